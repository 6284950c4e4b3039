"""The ledger against a model of a few lines, which knows of every click what was computed from it."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from privacy_ledger_tools import Maker, SetClock, guarantee, open_ledger

from discreet.privacy.guarantee import Unit
from discreet.privacy.ledger import BudgetExhausted, Debit, Origin, State
from discreet.privacy.ledger.debit import Tally

BUDGET = 2.0
PARTS = ("", "a", "b")
EPSILONS = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0])


class LedgerMachine(RuleBasedStateMachine):
    """For each click (its epoch and part), the model adds up the ε of every call of `make` that could read it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = SetClock(0)
        self.latest = 0
        self.forgotten = -1
        self.sent: dict[tuple[str, str, int], bytes] = {}
        self.computed: list[tuple[range, str, float]] = []
        self.make = Maker()
        self.ledger = open_ledger(Path(self.folder.name), self.clock, BUDGET)

    def teardown(self) -> None:
        self.folder.cleanup()

    def cost_of(self, epoch: int, part: str) -> float:
        return sum(e for epochs, of, e in self.computed if epoch in epochs and of in ("", part))

    @rule(
        purpose=st.sampled_from(["sketch", "label"]),
        back=st.integers(0, 3),
        length=st.integers(1, 3),
        part=st.sampled_from(PARTS),
        epsilon=EPSILONS,
        fails=st.booleans(),
        fallback=st.booleans(),
    )
    def ask(self, purpose, back, length, part, epsilon, fails, fallback):
        epoch = max(self.latest - back, 0)
        since = epoch if part else max(epoch - length + 1, 0)
        epochs = range(since, epoch + 1)

        def make() -> bytes:
            self.computed.append((epochs, part, epsilon))
            if fails:
                raise RuntimeError("failed while making")
            return self.make()

        key = (purpose, part, epoch)
        clicks = [(k, p) for k in epochs for p in ([part] if part else PARTS)]
        affordable = all(self.cost_of(*click) + epsilon <= BUDGET for click in clicks) and since > self.forgotten
        calls = len(self.computed)
        try:
            answer = self.ledger.release(
                purpose, epoch, guarantee(epsilon), make, part=part, since=since, fallback_to_old=fallback
            )
        except BudgetExhausted:
            assert key not in self.sent
            assert not affordable
            assert not fallback or not any(k[:2] == key[:2] for k in self.sent)
            return
        except RuntimeError:
            assert key not in self.sent
            assert affordable
            return
        if answer.origin is Origin.OLD:
            newest = max(k for k in self.sent if k[:2] == key[:2])
            assert (affordable, fallback, answer.payload, answer.epoch) == (False, True, self.sent[newest], newest[2])
        elif answer.origin is Origin.KEPT:
            assert answer.payload == self.sent[key]
        else:
            assert affordable
            assert key not in self.sent
            self.sent[key] = answer.payload
        assert len(self.computed) - calls == (answer.origin is Origin.FRESH)

    @rule(weeks=st.integers(-6, 2))
    def move_the_clock(self, weeks):
        self.clock.set_to_epoch(self.latest + weeks)
        self.latest = max(self.latest + weeks, 0)
        assert self.ledger.current_epoch() == self.latest

    @rule()
    def open_again(self):
        self.ledger = open_ledger(Path(self.folder.name), self.clock, BUDGET)

    @precondition(lambda self: self.latest > 2)
    @rule()
    def forget(self):
        self.ledger.forget()
        self.forgotten = max(self.forgotten, self.latest)
        self.sent = {key: made for key, made in self.sent.items() if key[2] > self.latest}

    @invariant()
    def no_click_costs_more_than_the_ledger_says(self):
        statement = self.ledger.statement()
        for epoch in range(self.latest + 20):
            costs = [self.cost_of(epoch, part) for part in PARTS]
            assert max(costs) <= statement.worst.epsilon <= BUDGET
            if epoch in statement.by_epoch:
                assert max(costs) == statement.by_epoch[epoch].epsilon
        assert len(statement.debits) == len(self.computed)


LedgerMachine.TestCase.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestLedgerMachine = LedgerMachine.TestCase


@st.composite
def debits(draw: st.DrawFn) -> Debit:
    part = draw(st.sampled_from(PARTS))
    first = draw(st.integers(0, 6))
    last = first if part else first + draw(st.integers(0, 4))
    epsilon, delta = draw(EPSILONS), draw(st.sampled_from([0.0, 2.0**-20, 2.0**-19]))
    return Debit(1, 0, "x", part, first, last, epsilon, delta, None, State.RELEASED, "m", 1)


@given(paid=st.lists(debits(), max_size=12), first=st.integers(0, 10), length=st.integers(0, 10))
def test_the_tally_is_the_maximum_over_all_clicks(paid, first, length):
    tally = Tally.of(Unit.CLICK, paid)

    def sums(field: str) -> list[float]:
        return [
            sum(getattr(d, field) for d in paid if d.first_epoch <= epoch <= d.last_epoch and d.part in ("", part))
            for epoch in range(first, first + length + 1)
            for part in PARTS
        ]

    most = tally.maximum(first, first + length)
    assert (most.epsilon, most.delta) == (max(sums("epsilon")), max(sums("delta")))


@given(paid=st.lists(debits(), max_size=12))
def test_for_a_user_everything_adds_up(paid):
    most = Tally.of(Unit.USER, paid).maximum(3, 4, "a")
    assert most.epsilon == pytest.approx(sum(d.epsilon for d in paid))
