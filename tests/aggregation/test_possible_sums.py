"""Which sums are possible: what noise does with a chance of 10^-12, and damaged shares that make impossible ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dap_lies import after
from dap_site import Site, example_task
from sqlalchemy import select, update

from discreet.aggregation.aggregator_noise import (
    MAX_FALSE_ALARM,
    ImpossibleSumError,
    noise_bound,
    noise_deviation,
    require_possible,
)
from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap import tables

GAUSSIAN = {"noise": "discrete_gaussian", "delta": 1e-6}


@pytest.mark.parametrize("chance", [1e-6, 1e-12])
@pytest.mark.parametrize(
    "terms", [{"epsilon": 0.5}, {"epsilon": 0.1}, {"epsilon": 2}, {"epsilon": 1, **GAUSSIAN}], ids=str
)
@pytest.mark.parametrize("values", [1, 5])
def test_the_bound_holds_and_is_close(values, terms, chance):
    """Against the exact distribution, by convolution of all draws."""
    task = example_task(**terms)
    scale = float(task.noise_scale)
    away = np.arange(-math.ceil(60 * scale) - 30, math.ceil(60 * scale) + 31)
    power = (away / scale) ** 2 / 2 if task.delta else np.abs(away) / scale
    one = np.exp(-power) / np.exp(-power).sum()
    mass = one
    for _ in range(2 * values - 1):
        mass = np.convolve(mass, one)
    exceeds = np.cumsum(mass[::-1])[::-1]  # P(N >= n), with n from -len//2 on
    bound, middle = noise_bound(task, values, chance), len(mass) // 2
    assert exceeds[middle + math.floor(bound) + 1] <= chance
    assert exceeds[middle + math.ceil(0.75 * bound) - 1] > chance


KINDS = {
    "popularity": {"kind": "multihot", "length": 4, "max_total": 1},
    "quality": {"kind": "sumvec", "length": 5, "max_value": 60, "max_total": 180},
    "weights": {"kind": "signedvec", "length": 3, "max_value": 60, "max_total": 60},
    "histogram": {"kind": "histogram", "length": 3},
    "sum": {"kind": "sum", "length": 1, "max_value": 9},
    "count": {"kind": "count", "length": 1},
}


@pytest.mark.parametrize("more", [{"epsilon": 1.0}, {"epsilon": 1.0, **GAUSSIAN}], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_value_is_within_what_contributions_and_noise_can_make(kind, more):
    task = example_task(**KINDS[kind], **more)
    noise = math.floor(noise_bound(task, 1, MAX_FALSE_ALARM / (2 * task.length + 2)))
    assert noise > 5 * noise_deviation(task)
    for readers in (0, 1, 120):
        high, low = readers * task.max_value + noise, readers * task.min_value - noise
        for value, possible in ((high, True), (high + 1, False), (low, True), (low - 1, False), (2**62, False)):
            values = np.zeros(task.length, np.int64)
            values[-1] = value
            if kind == "histogram":
                values[0] = readers - value
            if possible:
                require_possible(task, values, readers)
            else:
                with pytest.raises(ImpossibleSumError):
                    require_possible(task, values, readers)


@pytest.mark.parametrize(("kind", "least"), [("popularity", 0), ("histogram", 120)])
def test_the_total_is_within_what_is_proved_of_it(kind, least):
    task = example_task(**{**KINDS[kind], "length": 1000}, epsilon=1.0)
    noise = noise_bound(task, task.length, MAX_FALSE_ALARM / (2 * task.length + 2))
    for total in (120 + math.floor(noise), least - math.floor(noise)):
        values = np.full(task.length, total // task.length)
        values[: total % task.length] += 1
        require_possible(task, values, 120)
        values[-1] += 1 if total > least else -1
        with pytest.raises(ImpossibleSumError):
            require_possible(task, values, 120)


def test_a_device_that_exceeds_an_unproved_total_spoils_no_window():
    task = example_task(**KINDS["quality"], epsilon=100.0)
    require_possible(task, np.full(5, 120 * 60), 120)


@pytest.mark.parametrize("side", ["leader", "helper"])
@pytest.mark.parametrize("bit", [20, 40, 60, 90, 120])
@pytest.mark.parametrize("kind", ["quality", "popularity", "weights", "histogram"])
def test_a_flipped_bit_in_a_stored_share_is_refused_with_its_window(kind, bit, side, tmp_path, caplog):
    site = Site(tmp_path, task=example_task(**KINDS[kind], epsilon=1.0))
    for window in (0, 1):
        site.clock.now = after(window) - 600
        for _ in range(3):
            site.client.upload(window, Contribution.of(site.task, site.task.nothing()))
    site.worker.step()
    store, time = getattr(site, side).store, site.agreement.time_of(1)
    with store.engine.begin() as connection:
        share = connection.execute(select(tables.buckets.c.share).where(tables.buckets.c.time == time)).scalar()
        damaged = bytearray(share)
        damaged[bit // 8] ^= 1 << bit % 8
        connection.execute(update(tables.buckets).where(tables.buckets.c.time == time).values(share=bytes(damaged)))
    site.clock.now = after(2)
    assert site.collect(0).contributions == 3
    with pytest.raises(ImpossibleSumError, match="window 1 of task trial"):
        site.collect(1)
    assert [one.fields["window"] for one in caplog.records if "impossible" in one.message] == [1]
    site.close()
