"""What a node's host can be asked to take part in: kinds of jobs, and the functions that open them."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.federated.flower.configuration import NodeSettings
    from discreet.federated.nodes import Contribute, OpenJob

KINDS = {
    "train": "discreet.methods.node_job:open_job",
    "share": "discreet.vendors.sharing.node_job:open_job",
}
"""Kind of job to 'module:function', imported when such a job comes; called with settings and description."""


def open_job_for(settings: NodeSettings) -> OpenJob:
    """How this node opens jobs: by their kind, which is in the JSON of their first line."""

    def open_job(description: bytes) -> Contribute:
        module, _, function = KINDS[kind_of(description)].partition(":")
        opened: Contribute = getattr(importlib.import_module(module), function)(settings, description)
        return opened

    return open_job


def kind_of(description: bytes) -> str:
    """The kind of a job.

    Raises:
        DiscreetError: if there is none, or none that this version knows.
    """
    try:
        kind = json.loads(description.split(b"\n", 1)[0])["kind"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DiscreetError("the job does not say in its first line of which kind it is") from None
    if not isinstance(kind, str) or kind not in KINDS:
        raise DiscreetError(f"this node knows jobs of the kinds {', '.join(KINDS)}, and not of this one")
    return kind
