"""The reader encoder of a PrivateRec run as an ONNX file, so that a device computes its attention without PyTorch."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from discreet.errors import DiscreetError
from discreet.files import replacing_file
from discreet.methods.published.serving import attention
from discreet.methods.run import Run
from discreet.models.news_model import ArticleBatch, NewsModel
from discreet.serving.basis import trained_network

_OPSET = 17


class ReaderAttention(nn.Module):
    """From a history to attention over the basis (PrivateRec, Algorithm 2, line 7), before it is clipped and noised."""

    def __init__(self, network: NewsModel, basis: Tensor, anonymous: Tensor) -> None:
        super().__init__()
        self.network = network
        self.basis: Tensor
        self.anonymous: Tensor
        self.register_buffer("basis", basis)
        self.register_buffer("anonymous", anonymous)

    def forward(self, clicks: Tensor, mask: Tensor) -> Tensor:
        """Attention [n, B] of the vectors of clicks [n, history, size]; the anonymous article where `mask` is false."""
        history = torch.where(mask.unsqueeze(-1), clicks, self.anonymous)
        copies = torch.ones_like(mask, dtype=torch.int64)
        return attention(self.network.encode_readers(history, copies), self.basis, math.inf)


def reader_attention(run: Run) -> ReaderAttention:
    """The reader encoder of a run, as PyTorch has it."""
    _, network, _ = trained_network(run)
    basis = torch.from_numpy(run.state["basis"])
    with torch.no_grad():
        nothing = ArticleBatch(vectors=torch.zeros(1, len(run.state["text_centre"])))
        anonymous = network.encode_articles(nothing)[0]
    return ReaderAttention(network, basis, anonymous).eval()


def export_reader(run: Run, path: Path) -> None:
    """Write the reader encoder of a run as an ONNX file.

    Inputs: `clicks`, float32 [n, history, size], the vectors of the latest clicks as /v1/catalogue gives them, the
    latest last; `mask`, bool [n, history], true where there is a click. Output: `attention`, float32 [n, B], with sums
    of 1. It is exact, so it stays on the device: `ClippedAttention` clips it and adds noise, and the release is sent.

    Raises:
        DiscreetError: ONNX is not installed, or the run is not one of PrivateRec over title vectors.
    """
    try:
        import onnx
    except ImportError:
        raise DiscreetError("onnx is not installed; pip install 'discreet[onnx]'") from None
    reader = reader_attention(run)
    length, size = reader.network.history_length, reader.network.size
    example = torch.zeros(2, length, size), torch.ones(2, length, dtype=torch.bool)
    names = ["clicks", "mask", "attention"]
    with replacing_file(path) as draft, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter that needs no further package calls itself old
        torch.onnx.export(
            reader,
            example,
            draft,
            dynamo=False,
            opset_version=_OPSET,
            input_names=names[:2],
            output_names=names[2:],
            dynamic_axes={name: {0: "readers"} for name in names},
        )
        onnx.checker.check_model(onnx.load(draft))
