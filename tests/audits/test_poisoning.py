"""Liars: forged reports move a sum by no more than one reader may; in training they stay within what is let through."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from discreet.aggregation.prio3 import Prio3
from discreet.audits import selected
from discreet.audits.poisoning import poisoning_audits
from discreet.audits.poisoning.forged_reports import Forger, accepted_norm
from discreet.audits.poisoning.liars import Bound, Liars
from discreet.data.synthetic import news_world
from discreet.methods.method import TrainingTask
from discreet.methods.published.dp_fedrec import DPFedRec
from discreet.methods.published.fednewsrec import FedNewsRec
from discreet.methods.published.fedrec import FedRec
from discreet.training.readers_sum import ReadersSum, flat

KEY = bytes(32)


@pytest.fixture(scope="module")
def task() -> TrainingTask:
    return TrainingTask(news_world(150, seed=7), "hashed")


def test_what_a_reader_may_say_is_accepted_and_lies_are_not() -> None:
    prio3 = Prio3.multihot_count_vec(8, 2, 4)
    ones, count = np.zeros(8, np.uint64), np.array([1, 1], np.uint64)
    ones[:2] = 1
    assert accepted_norm(prio3, KEY, np.concatenate((ones, count))) == 2
    for lie in ([5, 0, 0, 0, 0, 0, 0, 0, 1, 1], [1, 1, 1, 0, 0, 0, 0, 0, 1, 1], [1, 1, 1, 1, 1, 1, 1, 1, 0, 0]):
        assert accepted_norm(prio3, KEY, np.array(lie, np.uint64)) == 0


@pytest.mark.parametrize("most", [1, 3])
def test_a_forger_moves_a_sum_by_one_readers_share(most: int) -> None:
    assert Forger(max_weight=most, tries=20).influence(0) == most


@pytest.mark.parametrize(
    ("method", "bound"),
    [
        (FedRec(model="naml", rounds=1, fraction=0.2), Bound()),
        (DPFedRec(model="naml", rounds=1, fraction=0.2, epsilon=math.inf), Bound(norm=0.005)),
        (FedNewsRec(model="naml", rounds=1, fraction=0.2), Bound(coordinate=0.005, says_count=True)),
    ],
)
def test_liars_keep_to_what_is_let_through(method, bound, task) -> None:
    setup = method.setup(task, 0)
    liars = Liars(0.1, bound)
    total, _ = liars.sums(method, task, setup)(setup.start, 1)
    clients = liars._honest_clients(task.data.splits["train"], setup, 0)
    honest = method.contribution(replace(setup, clients=clients), setup.start, 1)
    with_lies, without = (ReadersSum.from_lattice(each, setup.start) for each in (total, honest))
    count = round((with_lies.weight - without.weight) / (liars.claimed_count if bound.says_count else 1))
    assert count >= 1
    sent = (flat(with_lies.gradient) - flat(without.gradient)) / (with_lies.weight - without.weight)
    if bound.coordinate is not None:
        assert np.abs(sent).max() <= bound.coordinate * (1 + 1e-6)
    elif bound.norm is not None:
        assert np.linalg.norm(sent) == pytest.approx(bound.norm, rel=1e-3)
    else:
        assert np.linalg.norm(sent) > 10 * np.linalg.norm(flat(without.mean))


def test_the_audits_are_there() -> None:
    assert poisoning_audits is not None
    assert [audit.mechanism for audit in selected(["poisoning"])] == ["poisoning"] * 5
