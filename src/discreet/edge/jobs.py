"""The jobs that a node can be asked to take part in: training for readers' clicks, sharing for a vendor's data."""

from __future__ import annotations

import json

from discreet.data.formats.data_format import PurchasesFormat, RatingsFormat
from discreet.data.formats.format_registry import recognise
from discreet.errors import DiscreetError
from discreet.nodes import Contribute, OpenJob
from discreet.nodes.configuration import NodeSettings

KINDS = ("train", "share")


def open_job_for(settings: NodeSettings) -> OpenJob:
    """How this node opens jobs: those of the kind that its data is for. The data is read now.

    Raises:
        InputError: the data cannot be read.
    """
    own = "share" if isinstance(recognise(settings.data), RatingsFormat | PurchasesFormat) else "train"
    opened = _opener(own, settings)

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


def _opener(kind: str, settings: NodeSettings) -> OpenJob:
    """Only what is needed is loaded: PyTorch for a training, numba for sharing."""
    if kind == "share":
        from discreet.edge.vendor.sharing_node import job_opener as open_sharing

        return open_sharing(settings)
    from discreet.edge.node.training_node import job_opener as open_training

    return open_training(settings)
