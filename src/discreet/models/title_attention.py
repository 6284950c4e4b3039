"""From the windows of titles' words to titles' vectors, with a gradient of its own.

ReLU, self-attention, ReLU, attention pooling: what `SelfAttention` and `AttentionPooling` compute, for all titles of a
round in one function. Autograd would go through memory about twice as often. The last two positions of most titles are
padding between padding and padding at the border, the same in all titles: they are multiplied with Q, K and V once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from discreet.models.layers import AttentionPooling, SelfAttention, log_copies

COMMON = 2
"""How many of the last positions may be common to all titles."""


def own_positions(titles: Sequence[Tensor]) -> list[int]:
    """How many positions of each batch of titles [n, words] are not common to all: where three end all, two are."""
    return [
        words.shape[1] - COMMON * (words.shape[1] > COMMON and not int(words[:, -COMMON - 1 :].count_nonzero()))
        for words in titles
    ]


def attended_titles(
    windows: Tensor, own: Sequence[int], copies: Sequence[Tensor], attention: SelfAttention, pooling: AttentionPooling
) -> Tensor:
    """Vectors of titles, batch by batch, from the sums of their windows before the ReLU.

    A batch with copies [n, positions] has n · `own` rows of windows. Where fewer are its own than there are positions,
    its titles end with the last rows of all, which are common to them.
    """
    vectors: Tensor = _Titles.apply(  # type: ignore[no-untyped-call]
        windows,
        attention.weight,
        pooling.project.weight,
        pooling.project.bias,
        pooling.query,
        attention.heads,
        own,
        copies,
    )
    return vectors


class _Weights(NamedTuple):
    """Q, K and V side by side [input, 3 · size], Q over the root of the head size; the pooling's W, b and q."""

    heads: int
    attention: Tensor
    project: Tensor
    bias: Tensor
    query: Tensor

    @classmethod
    def of(cls, heads: int, attention: Tensor, *pooling: Tensor) -> _Weights:
        scaled = attention.clone()
        scaled[:, 0] *= _scale(attention, heads)
        return cls(heads, scaled.flatten(1), *pooling)


class _Kept(NamedTuple):
    """What the gradient of a batch needs: the forward pass's values, heads [n · heads, positions, …] apart."""

    inputs: Tensor
    queries: Tensor
    keys: Tensor
    values: Tensor
    attention: Tensor
    outputs: Tensor
    hidden: Tensor
    pooling: Tensor


class _Titles(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        windows: Tensor,
        attention: Tensor,
        project: Tensor,
        bias: Tensor,
        query: Tensor,
        heads: int,
        own: Sequence[int],
        copies: Sequence[Tensor],
    ) -> Tensor:
        """The vectors [titles, size]."""
        weights = _Weights.of(heads, attention, project, bias, query)
        sizes = [len(each) * positions for each, positions in zip(copies, own, strict=True)]
        *rows, end = torch.split(windows, [*sizes, COMMON])
        end = torch.relu(end)
        common = (end @ weights.attention).view(COMMON, 3, heads, -1).permute(1, 2, 0, 3)
        found = [_forward(part, common, each, weights) for part, each in zip(rows, copies, strict=True)]
        ctx.save_for_backward(attention, project, bias, query, end, *(value for _, kept in found for value in kept))
        ctx.heads, ctx.sizes = heads, sizes
        return torch.cat([vectors for vectors, _ in found])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """Of the windows and of the weights."""
        *given, end = ctx.saved_tensors[:5]
        weights = _Weights.of(ctx.heads, *given)
        values = iter(ctx.saved_tensors[5:])
        batches = [_Kept(*each) for each in zip(*[values] * len(_Kept._fields), strict=True)]
        total = _Weights(ctx.heads, *(torch.zeros_like(value) for value in weights[1:]))
        windows = end.new_empty(sum(ctx.sizes) + COMMON, end.shape[1])
        *rows, last = torch.split(windows, [*ctx.sizes, COMMON])
        projected = end.new_zeros(COMMON, total.attention.shape[1])
        for part, kept, out in zip(
            torch.split(gradient, [len(k.pooling) for k in batches]), batches, rows, strict=True
        ):
            projected += _backward(part, kept, weights, total, out)
        total.attention.addmm_(end.T, projected)
        _rectified(projected @ weights.attention.T, end, last)
        attention = total.attention.view_as(given[0])
        attention[:, 0] *= _scale(attention, ctx.heads)
        return (windows, attention, *total[2:], None, None, None)


def _forward(windows: Tensor, common: Tensor, copies: Tensor, weights: _Weights) -> tuple[Tensor, _Kept]:
    """The vectors of a batch [n, size], and what their gradient needs."""
    (n, positions), heads = copies.shape, weights.heads
    inputs = torch.relu(windows)
    projected = (inputs @ weights.attention).view(n, len(inputs) // n, 3, heads, -1).permute(2, 0, 3, 1, 4)
    own, size = projected.shape[3:]
    each = projected.new_empty(3, n, heads, positions, size)
    each[..., :own, :] = projected
    if own < positions:
        each[..., own:, :] = common.unsqueeze(1)
    queries, keys, values = each.flatten(1, 2).unbind()

    counted = log_copies(copies, inputs)
    attention = torch.bmm(queries, keys.mT)
    logits = attention.view(n, heads, positions, positions)
    logits += counted[:, None, None, :]
    logits -= logits.amax(-1, keepdim=True)
    logits.exp_()
    logits /= logits.sum(-1, keepdim=True)

    outputs = torch.bmm(attention, values).view(n, heads, positions, size).transpose(1, 2).reshape(n * positions, -1)
    outputs.relu_()
    hidden = torch.addmm(weights.bias, outputs, weights.project.T).tanh_()
    pooling = torch.softmax((hidden @ weights.query).view(n, positions) + counted, dim=-1)
    vectors = torch.bmm(pooling.unsqueeze(1), outputs.view(n, positions, -1)).squeeze(1)
    return vectors, _Kept(inputs, queries, keys, values, attention, outputs, hidden, pooling)


def _backward(gradient: Tensor, kept: _Kept, weights: _Weights, total: _Weights, windows: Tensor) -> Tensor:
    """Add a batch's gradient to the total, write that of its own windows, return that of the common projections."""
    n, positions = kept.pooling.shape
    by_text = (n, positions, -1)
    pooled = torch.bmm(kept.outputs.view(by_text), gradient.unsqueeze(-1)).squeeze(-1)
    logits = kept.pooling * (pooled - (kept.pooling * pooled).sum(-1, keepdim=True))
    hidden = (1 - kept.hidden.square()).mul_(weights.query).mul_(logits.view(-1, 1))
    total.query.addmv_(kept.hidden.T, logits.view(-1))
    total.project.addmm_(hidden.T, kept.outputs)
    total.bias.add_(hidden.sum(0))
    outputs = (kept.pooling.unsqueeze(-1) * gradient.unsqueeze(1)).view_as(kept.outputs).addmm_(hidden, weights.project)
    _rectified(outputs, kept.outputs, outputs)

    by_head = (n, positions, weights.heads, -1)
    expected = (outputs * kept.outputs).view(by_head).sum(-1).transpose(1, 2).reshape(-1, positions, 1)
    outputs = outputs.view(by_head).transpose(1, 2).reshape(kept.values.shape)
    attention = torch.bmm(outputs, kept.values.mT).sub_(expected).mul_(kept.attention)
    each = outputs.new_empty(3, *kept.values.shape)
    torch.bmm(attention, kept.keys, out=each[0])
    torch.bmm(attention.mT, kept.queries, out=each[1])
    torch.bmm(kept.attention.mT, outputs, out=each[2])

    own = len(windows) // n
    each = each.view(3, n, weights.heads, positions, -1).permute(1, 3, 0, 2, 4)
    projected = each[:, :own].reshape(n * own, -1)
    total.attention.addmm_(kept.inputs.T, projected)
    _rectified(projected @ weights.attention.T, kept.inputs, windows)
    return each[:, own:].sum(0).flatten(1) if own < positions else projected.new_zeros(())


def _rectified(gradient: Tensor, outputs: Tensor, out: Tensor) -> None:
    """The gradient before a ReLU with these outputs."""
    torch.ops.aten.threshold_backward.grad_input(gradient, outputs, 0, grad_input=out)


def _scale(attention: Tensor, heads: int) -> float:
    return 1 / math.sqrt(attention.shape[-1] // heads)
