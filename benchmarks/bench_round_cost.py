"""What a round costs a reader and the server, measured, fitted and drawn out to 10⁸ readers.

    python benchmarks/bench_round_cost.py [--largest 1000]

Measures secure sums of few and many parties, readers' updates, clipping and noise; fits a few constants by least
squares; and says what they make of a round of DP-FedAvg in two ways: every reader's device is a party, in cohorts, or
nodes host the readers. The peer is numpy's plain sum of the same vectors. Bytes must be exactly those of the formulas.
Target: no measured time of a millisecond or more is further than 35 % from the model, nor is that of the largest sum
from a model that has not seen it. A tenth of the parties drops out of every sum, after sharing keys.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from round_cost_model import (
    MEMORY,
    PARTY,
    PLAIN,
    SERVER,
    STEPS,
    Fit,
    fit_steps,
    received,
    sent,
    whole_round,
)
from round_cost_points import Head, SumPoint, measure_sum, noise_seconds
from round_cost_tables import Costs, print_cohorts, print_nodes, print_sizes

MAX_ERROR = 0.35
MIN_SECONDS = 1e-3
"""Shorter times are all jitter, and weigh nothing in a round."""

SUMS = [(10, 5_000), (10, 80_000), (10, 1_000_000), (50, 5_000), (50, 80_000), (50, 1_000_000), (100, 5_000)]
SUMS += [(100, 80_000), (300, 5_000), (300, 80_000), (1000, 5_000)]
COLD = 8_000_000
"""Bytes from which vectors no longer fit a cache, as vectors that come over a network would not."""

BATCHES = (16, 64, 256)
"""Readers whose updates are computed in one go."""

Line = tuple[str, float, float]


@dataclass(frozen=True)
class Updates:
    """What is measured of readers' updates: lines to show, and the constants by head, of clipping and of noise."""

    lines: list[Line]
    alone: dict[str, Fit[int]]
    together: dict[str, Fit[int]]
    clip: Fit[tuple[int, int]]
    noise: Fit[int]


def measure_updates(heads: list[Head]) -> Updates:
    """Updates on a device, alone in a node, side by side in the simulator; clipping; noise; a whole contribution."""
    lines: list[Line] = []
    fits: dict[str, dict[str, Fit[int]]] = {"alone": {}, "together": {}}
    for head in heads:
        taken = {
            "alone": {1: head.device_seconds()} | {count: head.update_seconds(count, alone=True) for count in BATCHES},
            "together": {count: head.update_seconds(count, alone=False) for count in BATCHES},
        }
        for how, seconds in taken.items():
            fit = Fit.of(("batch", "reader"), lambda readers: (1, readers), [*seconds], [*seconds.values()])
            fits[how][head.name] = fit
            lines += [(f"{head.name}, {count} readers {how}", one, fit(count)) for count, one in seconds.items()]
    clips = {(readers, head.length): head.clip_seconds(readers) for head in heads for readers in (50, 200)}
    clip = Fit.of(("reader", "value"), lambda at: (at[0], at[0] * at[1]), [*clips], [*clips.values()])
    lines += [(f"clip {at[0]} updates of {at[1]:,} values", seconds, clip(at)) for at, seconds in clips.items()]
    draws = {length: noise_seconds(length) for length in (5_000, 80_000, 1_000_000)}
    noise = Fit.of(("draw", "value"), lambda values: (1, values), [*draws], [*draws.values()])
    lines += [(f"noise of {length:,} values", seconds, noise(length)) for length, seconds in draws.items()]
    for head in heads:
        readers, whole = head.node(300)
        model = fits["alone"][head.name](readers) + clip((readers, head.length)) + noise(head.length)
        lines.append((f"{head.name}, a node of {readers} readers", whole, model))
    return Updates(lines, fits["alone"], fits["together"], clip, noise)


def measure_sums(largest: int) -> list[SumPoint]:
    """All sums, with a line of totals for each as it is done."""
    columns = ("parties", "k", "t", "values", "party, ms", "server, ms", "plain, ms", "ratio", "memory, MB")
    print("".join(f"{column:>11}" for column in columns))
    points = []
    for parties, length in SUMS:
        if parties > largest:
            continue
        one = measure_sum(parties, length, max(2, min(10, 600 // parties)))
        if one.sent != sent(one.size) or one.received != received(one.size):
            raise SystemExit(f"the bytes of {one.size} are not those of the formulas")
        plan, server = one.size.plan, sum(one.server.values())
        print(
            f"{parties:>11,}{plan.degree:>11}{plan.threshold:>11}{length:>11,}{1e3 * sum(one.party.values()):>11.2f}"
            f"{1e3 * server:>11.1f}{1e3 * one.plain:>11.3f}{server / one.plain:>11,.0f}{one.memory / 1e6:>11.2f}",
            flush=True,
        )
        points.append(one)
    return points


def sum_lines(points: list[SumPoint], costs: Costs) -> Iterator[Line]:
    """Measured and fitted, for every step and in all."""
    for one in points:
        name = f"{one.size.plan.clients} × {one.size.length:,}"
        for who, measured, fits in (("party", one.party, costs.party), ("server", one.server, costs.server)):
            for step in STEPS:
                yield f"{name} {who} {step.name.lower()}", measured[step], fits[step](one.size)
            yield f"{name} {who}, all", sum(measured.values()), whole_round(fits, one.size)
    for one in _cold(points):
        yield f"{one.size.plan.clients} × {one.size.length:,} plain", one.plain, costs.plain(one.size)


def held_out(points: list[SumPoint]) -> Iterator[Line]:
    """The largest sum against constants from the others alone."""
    last, others = points[-1], points[:-1]
    sizes = [one.size for one in others]
    for who, model, measured, old in (
        ("party", PARTY, last.party, [one.party for one in others]),
        ("server", SERVER, last.server, [one.server for one in others]),
    ):
        yield f"{who}, all", sum(measured.values()), whole_round(fit_steps(model, sizes, old), last.size)


def show(title: str, lines: list[Line]) -> float:
    """Print lines long enough to count, and return their largest relative error."""
    print(f"\n{title}\n{'':>44}{'measured, ms':>14}{'model, ms':>12}{'error':>8}")
    worst = 0.0
    for name, measured, model in lines:
        if measured >= MIN_SECONDS:
            worst = max(worst, abs(model / measured - 1))
            print(f"{name:>44}{1e3 * measured:>14.2f}{1e3 * model:>12.2f}{model / measured - 1:>+8.0%}")
    return worst


def show_constants(fits: Mapping[str, Fit[Any]]) -> None:
    """All constants, in microseconds."""
    print("\nconstants, µs")
    for name, fit in fits.items():
        parts = (f"{what} {1e6 * value:.4g}" for what, value in zip(fit.names, fit.constants, strict=True))
        print(f"{name:>18}: {'; '.join(parts)}")


def _cold(points: list[SumPoint]) -> list[SumPoint]:
    return [one for one in points if 8 * one.size.survivors * one.size.length > COLD]


def fit_sums(points: list[SumPoint], updates: Updates) -> Costs:
    """All constants together."""
    sizes, cold = [one.size for one in points], _cold(points)
    return Costs(
        party=fit_steps(PARTY, sizes, [one.party for one in points]),
        server=fit_steps(SERVER, sizes, [one.server for one in points]),
        plain=Fit.of(PLAIN[0], PLAIN[1], [one.size for one in cold], [one.plain for one in cold]),
        memory=Fit.of(MEMORY[0], MEMORY[1], sizes, [float(one.memory) for one in points]),
        update=updates.alone,
        clip=updates.clip,
        noise=updates.noise,
    )


def main() -> int:
    """Measure, fit, compare, draw out; 1 if the model is further off than it may be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=1000, help="the most parties of a sum that is measured")
    largest = parser.parse_args().largest
    torch.set_num_threads(1)

    heads = [Head("bilinear"), Head("plm_nr")]
    updates = measure_updates(heads)
    worst = show("readers' updates", updates.lines)
    print("\nsecure sums mod 2^64, processor time; ratio = the server's to that of numpy's plain sum\n")
    points = measure_sums(largest)
    costs = fit_sums(points, updates)
    worst = max(worst, show("secure sums", list(sum_lines(points, costs))))
    unseen = show("the largest sum, from the others alone", list(held_out(points)))
    constants: dict[str, Fit[Any]] = {
        **{f"{name}, alone": fit for name, fit in updates.alone.items()},
        **{f"{name}, together": fit for name, fit in updates.together.items()},
        "clip": costs.clip,
        "noise": costs.noise,
        **{f"party {step.name.lower()}": fit for step, fit in costs.party.items()},
        **{f"server {step.name.lower()}": fit for step, fit in costs.server.items()},
        "plain sum": costs.plain,
    }
    show_constants(constants)
    off = max(abs(costs.memory(one.size) / one.memory - 1) for one in points)
    print(f"\nthe server's memory is within {off:.0%} of its model")
    for head in heads:
        print_sizes(head, costs)
        print_cohorts(head, costs)
        print_nodes(head, costs)
    met = worst <= MAX_ERROR and unseen <= MAX_ERROR
    print(
        f"\n{'met' if met else 'MISSED'}: largest error of the model {worst:.0%}, for the largest sum unseen"
        f" {unseen:.0%} (at most {MAX_ERROR:.0%})"
    )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
