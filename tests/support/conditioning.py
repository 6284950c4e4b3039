"""What an arithmetic can promise of a gradient, by the gradient's condition and not by what one processor gave.

Rounding the parameters to the nearest number of an arithmetic with unit round-off u already changes the exact gradient:
that change is the condition of the problem, and no computation in this arithmetic can be expected to do better. It is
measured in double precision, by moving each parameter up or down by 2⁻²⁴ of itself, and is linear in the step.

A computation rounds not once but at every operation. Each sum here has at most 12 terms (words, clicks, coordinates,
candidates), and six of them follow one another, forward and back: fewer than ROUNDINGS roundings, each of which does at
most what a rounding of a parameter does.

Soft-max gives p − 1 within u, not within u·(1 − p): of a client whose clicks are all foreseen, nothing but a difference
of nearly equal numbers is left. Hence one more u, of the largest client's gradient.
"""

from __future__ import annotations

import numpy as np
import torch

ROUNDINGS = 2 * 6 * 12
STEP = 2.0**-24


def norm(gradient):
    """The length of a gradient."""
    return sum(float((value.double() ** 2).sum()) for value in gradient.values()) ** 0.5


def distance(found, expected):
    """The length of a difference of gradients."""
    return norm({name: found[name].double() - expected[name].double() for name in expected})


def moved(parameters, generator):
    """Parameters up or down by STEP of themselves, in double precision."""
    signs = {n: 2 * torch.randint(0, 2, v.shape, generator=generator) - 1 for n, v in parameters.items()}
    return {name: value.double() * (1 + STEP * signs[name]) for name, value in parameters.items()}


class Promise:
    """Bounds on the errors of clients' gradients and losses in an arithmetic; `gradients(parameters)` is in double."""

    def __init__(self, gradients, parameters, dtype, draws=4):
        generator = torch.Generator().manual_seed(0)
        self.exact = gradients({name: value.double() for name, value in parameters.items()})
        others = [gradients(moved(parameters, generator)) for _ in range(draws)]
        self.gradient = np.zeros(len(self.exact))
        self.loss = np.zeros(len(self.exact))
        for other in others:
            steps = [distance(o.gradient, e.gradient) for o, e in zip(other, self.exact, strict=True)]
            losses = [abs(o.loss - e.loss) for o, e in zip(other, self.exact, strict=True)]
            self.gradient, self.loss = np.maximum(self.gradient, steps), np.maximum(self.loss, losses)
        scale = ROUNDINGS * torch.finfo(dtype).eps / 2 / STEP
        self.gradient = scale * (self.gradient + STEP * max(norm(e.gradient) for e in self.exact))
        self.loss = scale * (self.loss + STEP * max(e.loss for e in self.exact))
