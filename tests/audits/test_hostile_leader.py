"""A lying leader learns nothing of vendors' data, and the helper opens no other sum; checks taken out are missed."""

from unittest.mock import patch

import pytest
from test_hostile_coordinator import fail_over_ratings_aloud, refuse_items

from discreet.aggregation.split_sum import SplitTerms, split_helper
from discreet.audits import hostile_leader as hostile
from discreet.edge.node import host


def test_a_lying_leader_cannot_tell_vendors_with_other_data():
    assert not list(hostile.leader_faults(range(25)))


def test_conversations_open_sums_and_meet_refusals():
    """An audit that is refused at the door finds nothing."""
    with patch("os.fsync"), hostile.stage() as (worlds, script):
        held = [hostile._Leader(worlds[0], script, seed) for seed in range(25)]
    assert sum(one.opened for one in held) > 5
    said = b"".join(line for one in held for line in one.seen)
    for name in (b"WrongTerms", b"NoContribution", b"WrongSignature", b"over nobody else"):
        assert name in said


def open_for_some(patched):
    """The helper takes whoever is there for everybody."""

    def some(self, asked):
        return SplitTerms(self._purpose(asked.job, asked.task, self._roster), self._roster, asked.length)

    patched.setattr(split_helper.SplitHelper, "_terms", some)


def mean_nothing(patched):
    """Neither job nor task is in what vendors sign."""
    for module in (host, hostile):
        patched.setattr(module, "purpose", lambda *_: bytes(32))


@pytest.mark.long
@pytest.mark.parametrize("mutation", [refuse_items, fail_over_ratings_aloud, open_for_some, mean_nothing])
def test_a_check_that_is_taken_out_is_found(mutation, monkeypatch):
    mutation(monkeypatch)
    assert next(hostile.leader_faults(range(300)), None) is not None
