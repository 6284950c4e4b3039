"""A server that lies to nodes in every field learns nothing of their data; and a check that is taken out is missed."""

import warnings
from itertools import islice

import numpy as np
import pytest

from discreet.aggregation.secure_sum.sum_plan import Risks, SumPlan
from discreet.audits import hostile_nodes as hostile
from discreet.audits import hostile_training as hostile_nodes
from discreet.audits import hostile_vendors as hostile_vendors
from discreet.edge.node import host
from discreet.edge.node import training_node as training
from discreet.edge.vendor import sharing_node as vendors_job
from discreet.errors import DiscreetError
from discreet.methods.dp_fedavg import DPFedAvg
from discreet.training.clients import Clients
from discreet.vendors.sharing import contributions

STAGES = {"vendors": hostile_vendors.stage, "nodes": hostile_nodes.stage}
BLOCK = 40


def check(stage, first, count):
    found = list(islice(hostile.faults(STAGES[stage], range(first, first + count)), 3))
    assert not found, "\n".join(f"seed {fault.seed}: {fault.what}" for fault in found)


@pytest.fixture
def quiet(caplog):
    """What nodes refuse is refused by a check: it is no failure of theirs, and no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    assert not caplog.get_records("call")


@pytest.mark.parametrize("block", range(2))
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.long
def test_a_lying_server_cannot_tell_nodes_with_other_data(quiet, stage, block):
    check(stage, block * BLOCK, BLOCK)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("stage", STAGES)
def test_a_lying_server_cannot_tell_nodes_with_other_data_in_many_conversations(quiet, stage, block):
    check(stage, 10_000 + block * 500, 500)


def test_conversations_go_to_the_end_of_rounds_and_into_every_kind_of_refusal():
    """An audit that is refused at the door finds nothing."""
    with hostile_vendors.stage() as (worlds, script):
        held = [hostile._converse(worlds[0], script, seed) for seed in range(40)]
    assert sum(len(one.opened) for one in held) > 5
    said = b"".join(line for one in held for line in one.seen)
    for name in (b"WrongTerms", b"NoContribution", b"OutOfTurn", b"MalformedMessage", b"another job, task or roster"):
        assert name in said


def test_a_conversation_is_repeated_by_its_seed():
    with hostile_vendors.stage() as (worlds, script):
        one, two = (hostile._converse(worlds[0], script, 5).seen for _ in range(2))
    assert one == two


def refuse_items(patch):
    kept = vendors_job.on_catalogue

    def refusing(ratings, job):
        if set(ratings.items.ids) - set(job.items):
            raise DiscreetError("this vendor has items that are not in the job's catalogue")
        return kept(ratings, job)

    patch.setattr(vendors_job, "on_catalogue", refusing)


def refuse_stars(patch):
    kept = vendors_job.on_catalogue

    def refusing(ratings, job):
        if ratings.value.min() < job.scale[0] or ratings.value.max() > job.scale[1]:
            raise DiscreetError("this vendor's ratings are not on the job's scale")
        return kept(ratings, job)

    patch.setattr(vendors_job, "on_catalogue", refusing)


def fail_over_ratings(patch):
    kept = contributions.opening

    def failing(ratings, *public):
        if not len(ratings):
            raise ZeroDivisionError
        return kept(ratings, *public)

    patch.setattr(contributions, "opening", failing)


def fail_over_ratings_aloud(patch):
    fail_over_ratings(patch)
    patch.setattr(vendors_job._Unfailing, "contribution", lambda self, ratings: self.asked.contribution(ratings))


def mean_nothing(patch):
    """Neither job, task nor roster is in what nodes sign."""
    for module in (host, hostile):
        patch.setattr(module, "purpose", lambda *_: b"")


class Same(bytes):
    def __ne__(self, _):
        return False

    __hash__ = bytes.__hash__


def take_any_task(patch):
    patch.setattr(host, "task_digest", lambda task: Same(task))


def trust_everybody(patch):
    patch.setattr(SumPlan, "risks", lambda *_: Risks(0.0, 0.0, 0.0))


def refuse_overflow(patch):
    kept = DPFedAvg._computed

    def refusing(self, *arguments):
        for rows in kept(self, *arguments):
            if not np.isfinite(rows).all():
                raise DiscreetError("an update is not finite")
            yield rows

    patch.setattr(DPFedAvg, "_computed", refusing)


def fail_over_readers(patch):
    kept = Clients.draw

    def failing(self, chosen, *arguments):
        if len(chosen) > 1:
            raise IndexError("reader 42")
        return kept(self, chosen, *arguments)

    patch.setattr(Clients, "draw", failing)


def fail_over_readers_aloud(patch):
    fail_over_readers(patch)
    patch.setattr(training, "_NobodyJoins", lambda randomness: randomness)


@pytest.mark.long
@pytest.mark.parametrize(
    ("stage", "mutation", "first"),
    [
        ("vendors", refuse_items, 2),
        ("vendors", refuse_stars, 1),
        ("vendors", fail_over_ratings_aloud, 119),
        ("vendors", mean_nothing, 181),
        ("nodes", take_any_task, 3),
        ("vendors", trust_everybody, 5),
        ("nodes", mean_nothing, 0),
        ("nodes", refuse_overflow, 4),
        ("nodes", fail_over_readers_aloud, 1),
    ],
)
def test_a_check_that_is_taken_out_is_found(stage, mutation, first, monkeypatch):
    """Most conversations do not notice; one that does is tried first, and others where the audit has changed."""
    mutation(monkeypatch)
    assert next(hostile.faults(STAGES[stage], [first, *range(500)]), None) is not None


@pytest.mark.parametrize(("stage", "failure"), [("vendors", fail_over_ratings), ("nodes", fail_over_readers)])
@pytest.mark.long
def test_a_program_that_fails_over_data_is_not_heard(stage, failure, monkeypatch):
    failure(monkeypatch)
    check(stage, 0, 60)
