"""Recurrent units over the latest clicks of a history, with the gates and parameters of torch's own."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from discreet.models.layers import Dense


def written_out(clicks: Tensor, copies: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    """The latest `steps` clicks [n, steps, size] one by one, padding repeated, and which of them are there [n, steps].

    A recurrent unit has to read them so: there are at most `steps`, whatever the padding.
    """
    last = copies.cumsum(-1)
    step = last[..., -1:] - torch.arange(steps, 0, -1, device=copies.device)
    position = (last.unsqueeze(-2) <= step.unsqueeze(-1)).sum(-1)
    recent = clicks.gather(-2, position.unsqueeze(-1).expand(*position.shape, clicks.shape[-1]))
    return recent, step >= 0


class RecentGRU(nn.Module):
    """The last state of a gated recurrent unit (Cho et al. 2014) run over the latest `recent` clicks of a history.

    Gates and parameters are those of `torch.nn.GRU`, one cell after the other so that `vmap` passes through it.
    """

    def __init__(self, size: int, state_size: int, recent: int) -> None:
        super().__init__()
        self.state_size, self.recent = state_size, recent
        self.from_input = nn.Linear(size, 3 * state_size)
        self.from_state = nn.Linear(state_size, 3 * state_size)
        for layer in (self.from_input, self.from_state):
            nn.init.zeros_(layer.bias)
        nn.init.xavier_uniform_(self.from_input.weight)
        for gate in self.from_state.weight.data.chunk(3):
            nn.init.orthogonal_(gate)

    def forward(self, clicks: Tensor, copies: Tensor) -> Tensor:
        """Clicks [n, positions, size], oldest first, as one state [n, state size]."""
        recent, there = written_out(clicks, copies, self.recent)
        inputs = self.from_input(recent)
        layer = self.from_state
        states: tuple[Tensor, ...] = _States.apply(inputs, there, layer.weight, layer.bias)  # type: ignore[no-untyped-call]
        return states[0]


class _States(torch.autograd.Function):
    """The last state of a gated recurrent unit, from what its inputs give to the gates [n, steps, 3 · size].

    The gradient of a step is linear in that of the step after it, with factors that are known for all steps at once,
    and the gradient of the weights is one product, not a sum of one matrix for each step.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(inputs: Tensor, there: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, ...]:
        """The last state [n, size]; then the state before each step, the gates and the state's part of the proposal."""
        size = weight.shape[-1]
        state = torch.zeros_like(inputs[..., 0, :size])
        steps = []
        for given, now in zip(inputs.unbind(-2), there.unsqueeze(-1).unbind(-2), strict=True):
            product = nn.functional.linear(state, weight, bias)
            gates = torch.sigmoid(given[..., : 2 * size] + product[..., : 2 * size])
            reset, keep = gates.chunk(2, dim=-1)
            part = product[..., 2 * size :]
            proposal = torch.tanh(given[..., 2 * size :] + reset * part)
            steps.append((state, gates, part, proposal))
            state = torch.where(now, proposal + keep * (state - proposal), state)
        return (state, *(torch.stack(each, dim=-2) for each in zip(*steps, strict=True)))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        """Keep what the gradient needs."""
        ctx.mark_non_differentiable(*output[1:])
        ctx.save_for_backward(inputs[1], inputs[2], *output[1:])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, *_: Tensor) -> tuple[Tensor, None, Tensor, Tensor]:
        """Of inputs, weights and bias."""
        found, weight, before, gates, part, proposal = ctx.saved_tensors
        there = found.unsqueeze(-1)
        reset, keep = gates.chunk(2, dim=-1)
        by_proposal = (1 - keep) * (1 - proposal.square())
        by_reset = by_proposal * part * reset * (1 - reset)
        by_keep = (before - proposal) * keep * (1 - keep)
        by_state = torch.where(there, torch.cat((by_reset, by_keep, by_proposal * reset), dim=-1), 0.0)
        kept = torch.where(there, keep, 1.0)
        after, products = [], []
        for factor, passed in zip(reversed(by_state.unbind(-2)), reversed(kept.unbind(-2)), strict=True):
            after.append(gradient)
            products.append(torch.cat((gradient, gradient, gradient), dim=-1) * factor)
            gradient = gradient * passed + products[-1] @ weight
        states = torch.stack(products[::-1], dim=-2)
        last = torch.stack(after[::-1], dim=-2) * torch.where(there, by_proposal, 0.0)
        inputs = torch.cat((states[..., : -last.shape[-1]], last), dim=-1)
        flat = states.flatten(0, -2)
        return inputs, None, flat.mT @ before.flatten(0, -2), flat.sum(0)


class RecentLSTM(nn.Module):
    """All states of a long short-term memory (Hochreiter and Schmidhuber 1997) over the latest `recent` clicks.

    Gates and parameters are those of `torch.nn.LSTM`, one cell after the other so that `vmap` passes through it.
    """

    def __init__(self, size: int, state_size: int, recent: int) -> None:
        super().__init__()
        self.state_size, self.recent = state_size, recent
        self.from_input = Dense(size, 4 * state_size)
        self.from_state = nn.Linear(state_size, 4 * state_size, bias=False)
        for gate in self.from_state.weight.data.chunk(4):
            nn.init.orthogonal_(gate)

    def forward(self, clicks: Tensor, copies: Tensor) -> tuple[Tensor, Tensor]:
        """States [n, recent, state size] of clicks [n, positions, size], and which of them are there [n, recent]."""
        recent, there = written_out(clicks, copies, self.recent)
        inputs = self.from_input(recent)
        state = cell = torch.zeros_like(inputs[..., 0, : self.state_size])
        states = []
        for step, given in enumerate(inputs.unbind(-2)):
            enter, keep, proposal, leave = (given + self.from_state(state)).chunk(4, dim=-1)
            cell_after = torch.sigmoid(keep) * cell + torch.sigmoid(enter) * torch.tanh(proposal)
            state_after = torch.sigmoid(leave) * torch.tanh(cell_after)
            now = there[..., step].unsqueeze(-1)
            cell, state = torch.where(now, cell_after, cell), torch.where(now, state_after, state)
            states.append(state)
        return torch.stack(states, dim=-2), there
