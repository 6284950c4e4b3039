"""What a node's host can be asked to take part in: kinds of jobs, and the functions that open them."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.nodes import Contribute, OpenJob
    from discreet.nodes.configuration import NodeSettings

KINDS = {
    "train": "discreet.methods.node_job",
    "share": "discreet.vendors.sharing.node_job",
}
"""Kind of job to the module whose `job_opener` opens such jobs, by a node's settings."""


def open_job_for(settings: NodeSettings) -> OpenJob:
    """How this node opens jobs: those of the kind that its data is for. The data is read now.

    Raises:
        InputError: the data cannot be read.
    """
    from discreet.data.open import recognise

    own = "share" if recognise(settings.data) == "ratings" else "train"
    opened: OpenJob = importlib.import_module(KINDS[own]).job_opener(settings)

    def open_job(description: bytes) -> Contribute:
        kind = kind_of(description)
        if kind != own:
            raise DiscreetError(f"this node hosts data for jobs of the kind {own}, not {kind}")
        return opened(description)

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
