import json
import sqlite3
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from privacy_ledger_tools import WEEK, WEEKLY, Maker, SetClock, guarantee, open_ledger

from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit
from discreet.privacy.ledger import (
    Budget,
    BudgetExhausted,
    Ledger,
    LedgerError,
    Origin,
    Schedule,
    State,
    read_statement,
)
from discreet.privacy.ledger.debit import Debit, all_clicks
from discreet.privacy.noise import SecureNoise
from discreet.privacy.release import LatticePayload, Release, seal


def test_asking_again_gives_the_same_bytes_and_costs_nothing(tmp_path):
    ledger, make = open_ledger(tmp_path, SetClock(3)), Maker()
    first = ledger.release("sketch", 2, guarantee(1.0), make)
    again = ledger.release("sketch", 2, guarantee(1.0), make)
    reopened = open_ledger(tmp_path, SetClock(3)).release("sketch", 2, guarantee(1.0), make)
    assert (first.origin, again.origin, reopened.origin) == (Origin.FRESH, Origin.KEPT, Origin.KEPT)
    assert first.payload == again.payload == reopened.payload
    assert make.calls == 1
    assert ledger.statement().worst.epsilon == 1.0


def test_a_kept_release_says_what_it_cost_when_it_was_made(tmp_path):
    ledger = open_ledger(tmp_path, SetClock(3))
    ledger.release("sketch", 2, guarantee(0.5), Maker())
    assert ledger.release("sketch", 2, guarantee(1.5), Maker()).guarantee == guarantee(0.5)


def test_a_click_pays_for_each_purpose_but_epochs_have_no_click_in_common(tmp_path):
    ledger = open_ledger(tmp_path, SetClock(5), epsilon=2.0)
    for epoch in range(5):
        ledger.release("sketch", epoch, guarantee(1.5), Maker())
    ledger.release("label", 4, guarantee(0.5), Maker())
    statement = ledger.statement()
    assert statement.worst.epsilon == 2.0
    assert statement.by_epoch[4].epsilon == 2.0
    assert statement.by_epoch[3].epsilon == 1.5
    with pytest.raises(BudgetExhausted, match=r"'other' of epoch 4 would cost ε = 0.1"):
        ledger.release("other", 4, guarantee(0.1), Maker())


def test_parts_have_no_click_in_common_but_all_pay_for_the_whole(tmp_path):
    ledger = open_ledger(tmp_path, SetClock(1), epsilon=2.0)
    for impression in range(6):
        ledger.release("label", 1, guarantee(1.0), Maker(), part=f"impression {impression}")
    ledger.release("label", 1, guarantee(0.5), Maker())
    assert ledger.statement().worst.epsilon == 1.5
    with pytest.raises(BudgetExhausted):
        ledger.release("sketch", 1, guarantee(0.75), Maker())
    ledger.release("sketch", 1, guarantee(0.5), Maker())
    with pytest.raises(BudgetExhausted):
        ledger.release("second label", 1, guarantee(0.5), Maker(), part="impression 3")
    ledger.release("second label", 1, guarantee(0.5), Maker(), part="an impression without a label")
    assert ledger.statement().worst.epsilon == 2.0


def test_a_release_from_many_epochs_is_paid_in_each_of_them(tmp_path):
    ledger = open_ledger(tmp_path, SetClock(9), epsilon=2.0)
    ledger.release("sketch", 4, guarantee(1.5), Maker())
    with pytest.raises(BudgetExhausted):
        ledger.release("gradient", 6, guarantee(1.0), Maker(), since=2)
    ledger.release("gradient", 9, guarantee(1.0), Maker(), since=5)
    ledger.release("sketch", 7, guarantee(1.0), Maker())
    with pytest.raises(BudgetExhausted):
        ledger.release("anything", 7, guarantee(0.001), Maker())
    ledger.release("gradient", 6, guarantee(0.5), Maker(), since=4)
    assert ledger.statement().worst.epsilon == 2.0


def test_user_level_releases_all_add_up_whatever_the_epoch(tmp_path):
    ledger = open_ledger(tmp_path, SetClock(9), epsilon=2.0, unit=Unit.USER)
    ledger.release("round", 1, guarantee(1.0, unit=Unit.USER), Maker())
    ledger.release("round", 5, guarantee(1.0, unit=Unit.USER), Maker(), part="half")
    with pytest.raises(BudgetExhausted):
        ledger.release("round", 9, guarantee(0.25, unit=Unit.USER), Maker())
    statement = ledger.statement()
    assert statement.worst.epsilon == statement.all_clicks.epsilon == 2.0


def test_delta_has_its_own_budget(tmp_path):
    ledger = open_ledger(tmp_path, SetClock(1), epsilon=100.0, delta=2e-6)
    ledger.release("a", 1, guarantee(1.0, 1e-6), Maker())
    ledger.release("b", 1, guarantee(1.0, 1e-6), Maker())
    with pytest.raises(BudgetExhausted):
        ledger.release("c", 1, guarantee(1.0, 1e-9), Maker())
    assert ledger.release("d", 1, guarantee(1.0), Maker()).origin is Origin.FRESH


def test_ten_tenths_are_one_and_eleven_are_not(tmp_path):
    ledger = open_ledger(tmp_path, SetClock(1), epsilon=1.0)
    for number in range(10):
        ledger.release(f"tenth {number}", 1, guarantee(0.1), Maker())
    assert ledger.statement().worst.epsilon == 1.0
    with pytest.raises(BudgetExhausted):
        ledger.release("one more", 1, guarantee(1e-9), Maker())


def test_an_infinite_cost_fits_no_finite_budget_but_an_infinite_one_records_it(tmp_path):
    with pytest.raises(BudgetExhausted, match="ε = ∞"):
        open_ledger(tmp_path / "a", SetClock(1)).release("x", 1, guarantee(float("inf")), Maker())
    unlimited = open_ledger(tmp_path / "b", SetClock(1), epsilon=float("inf"))
    unlimited.release("x", 1, guarantee(float("inf")), Maker(), clicks=3)
    unlimited.release("y", 1, guarantee(1.0), Maker(), clicks=3)
    assert json.loads(json.dumps(unlimited.statement().to_json()))["worst"]["epsilon"] == "inf"


def test_a_claimed_guarantee_is_charged_at_what_it_truly_costs(tmp_path):
    ledger = open_ledger(tmp_path, SetClock(1), epsilon=30.0)
    terms = (Unit.CLICK, Adjacency.SUBSTITUTE, Adversary.SERVER, Scope.RELEASE, Status.CLAIMED, "attention")
    ledger.release("sketch", 1, Guarantee(20.2, 0.0, *terms, claimed_epsilon=10.0), Maker())
    assert ledger.statement().worst.epsilon == 20.2


@pytest.mark.parametrize(
    ("term", "value"),
    [("unit", Unit.USER), ("adjacency", Adjacency.ADD_REMOVE), ("adversary", Adversary.OUTSIDER)],
)
def test_guarantees_on_other_terms_do_not_add_up_and_are_refused(tmp_path, term, value):
    ledger, make = open_ledger(tmp_path, SetClock(1)), Maker()
    other = Guarantee.from_json(guarantee(0.1).to_json() | {term: str(value)})
    with pytest.raises(ValueError, match=term):
        ledger.release("sketch", 1, other, make)
    assert (make.calls, ledger.statement().debits) == (0, ())


def _fail() -> None:
    raise RuntimeError("bad parameters")


def test_bad_parameters_spend_nothing(tmp_path):
    ledger, make = open_ledger(tmp_path, SetClock(1)), Maker()
    with pytest.raises(RuntimeError, match="bad parameters"):
        ledger.release("sketch", 1, guarantee(1.0), make, check=_fail)
    for wrong in (
        {"epoch": 2},
        {"epoch": -1},
        {"purpose": ""},
        {"since": 2},
        {"part": "p", "since": 0},
        {"clicks": -1},
    ):
        arguments = {"purpose": "sketch", "epoch": 1, "guarantee": guarantee(1.0), "make": make} | wrong
        with pytest.raises(ValueError, match=r"epoch|purpose|span|part|clicks"):
            ledger.release(**arguments)
    assert (make.calls, ledger.statement().debits) == (0, ())


def test_nothing_is_checked_or_made_when_the_release_is_kept(tmp_path):
    ledger = open_ledger(tmp_path, SetClock(1))
    ledger.release("sketch", 1, guarantee(1.0), Maker())
    assert ledger.release("sketch", 1, guarantee(1.0), Maker(), check=_fail).origin is Origin.KEPT


def test_a_failed_attempt_stays_spent_and_the_next_one_pays_again(tmp_path):
    ledger, make = open_ledger(tmp_path, SetClock(1), epsilon=2.0), Maker()
    with pytest.raises(RuntimeError):
        ledger.release("sketch", 1, guarantee(1.0), _fail)
    with pytest.raises(TypeError, match="bytes"):
        ledger.release("other", 0, guarantee(1.0), lambda: "text")
    assert [d.state for d in ledger.statement().debits] == [State.DEBITED, State.DEBITED]
    ledger.release("sketch", 1, guarantee(1.0), make)
    assert ledger.statement().worst.epsilon == 2.0
    with pytest.raises(BudgetExhausted):
        ledger.release("label", 1, guarantee(0.5), make)
    assert make.calls == 1


def test_the_debit_is_in_the_file_before_anything_is_made(tmp_path):
    ledger = open_ledger(tmp_path, SetClock(1))
    copy = tmp_path / "as make saw it"

    def make() -> bytes:
        copy.write_bytes((tmp_path / "ledger" / "debits.sqlite").read_bytes())
        assert not list((tmp_path / "ledger").glob("*-journal"))
        return b"made"

    ledger.release("sketch", 1, guarantee(1.0), make)
    with sqlite3.connect(copy) as connection:
        assert connection.execute("SELECT purpose, epsilon, payload FROM debit").fetchall() == [("sketch", 1.0, None)]
    connection.close()


def test_when_the_budget_is_gone_the_newest_release_answers_marked_as_old(tmp_path):
    ledger, make = open_ledger(tmp_path, SetClock(4), epsilon=1.0), Maker()
    ledger.release("sketch", 1, guarantee(1.0), make)
    newest = ledger.release("sketch", 2, guarantee(1.0), make)
    ledger.release("label", 3, guarantee(1.0), make)
    old = ledger.release("sketch", 3, guarantee(0.5), make, fallback_to_old=True)
    assert (old.payload, old.epoch, old.origin) == (newest.payload, 2, Origin.OLD)
    with pytest.raises(BudgetExhausted):
        ledger.release("sketch", 3, guarantee(0.5), make)
    with pytest.raises(BudgetExhausted):
        ledger.release("never made", 3, guarantee(0.5), make, fallback_to_old=True)
    assert make.calls == 3


def test_epochs_follow_the_schedule():
    assert [WEEKLY.epoch_at(WEEKLY.start_seconds + s) for s in (-1, 0, WEEK - 1, WEEK)] == [-1, 0, 0, 1]
    assert WEEKLY.begins(2) == datetime(2026, 1, 19, tzinfo=UTC)
    with pytest.raises(ValueError, match="time zone"):
        Schedule(datetime(2026, 1, 5), timedelta(days=7))
    with pytest.raises(ValueError, match="positive"):
        Schedule(datetime(2026, 1, 5, tzinfo=UTC), timedelta(0))


def test_a_clock_set_back_makes_no_release_again(tmp_path):
    clock = SetClock(8)
    ledger = open_ledger(tmp_path, clock)
    made = ledger.release("sketch", 8, guarantee(1.0), Maker())
    clock.set_to_epoch(3)
    assert open_ledger(tmp_path, clock).current_epoch() == ledger.current_epoch() == 3
    with pytest.raises(ValueError, match="has not begun"):
        ledger.release("label", 8, guarantee(1.0), Maker())
    clock.set_to_epoch(8)
    assert ledger.release("sketch", 8, guarantee(1.0), Maker()).payload == made.payload
    with pytest.raises(BudgetExhausted):
        ledger.release("label", 8, guarantee(1.5), Maker())


def test_a_clock_that_was_nine_years_ahead_does_not_silence_the_ledger(tmp_path):
    clock = SetClock(8 + 9 * 52)
    ledger = open_ledger(tmp_path, clock)
    assert ledger.current_epoch() == 8 + 9 * 52
    clock.set_to_epoch(8)
    assert ledger.current_epoch() == 8
    assert ledger.release("sketch", 8, guarantee(1.0), Maker()).origin is Origin.FRESH
    assert WEEKLY.epoch_at(read_statement(tmp_path / "ledger").since) == 8


def test_before_the_first_epoch_it_is_epoch_0(tmp_path):
    ledger = open_ledger(tmp_path, SetClock(-2))
    assert ledger.current_epoch() == 0
    with pytest.raises(ValueError, match="has not begun"):
        ledger.release("sketch", 1, guarantee(1.0), Maker())


def test_a_limit_below_the_budget_counts_all_that_a_click_has_paid(tmp_path):
    ledger, make = open_ledger(tmp_path, SetClock(4), epsilon=2.0), Maker()
    ledger.release("label", 1, guarantee(0.5), make, part="impression")
    with pytest.raises(BudgetExhausted, match="the limit is"):
        ledger.release("sketch", 1, guarantee(0.25), make, limit=0.5)
    assert ledger.release("sketch", 2, guarantee(0.5), make, limit=0.5).origin is Origin.FRESH
    with pytest.raises(BudgetExhausted):
        ledger.release("another", 2, guarantee(0.1), make, limit=0.5)
    assert make.calls == 2


def test_what_was_made_and_what_was_paid(tmp_path):
    ledger = open_ledger(tmp_path, SetClock(4))
    assert ledger.kept("sketch", 1) is None
    assert not ledger.is_paid("sketch", 1)
    with pytest.raises(RuntimeError):
        ledger.release("sketch", 1, guarantee(0.5), _fail)
    assert ledger.kept("sketch", 1) is None
    assert ledger.is_paid("sketch", 1)
    made = ledger.release("label", 1, guarantee(0.5), Maker(), part="a")
    assert ledger.kept("label", 1, part="a").payload == made.payload
    assert ledger.kept("label", 1) is None
    assert not ledger.is_paid("label", 1, part="b")


def test_forgetting_keeps_the_debits_and_closes_the_epochs(tmp_path):
    clock, make = SetClock(2), Maker()
    ledger = open_ledger(tmp_path, clock, epsilon=4.0)
    secret = b"payload that must not stay in the file"
    ledger.release("sketch", 1, guarantee(1.0), lambda: secret)
    with pytest.raises(RuntimeError):
        ledger.release("label", 1, guarantee(1.0), _fail, part="impression 77")
    ledger.release("label", 1, guarantee(1.0), make, part="impression 77")
    ledger.release("label", 1, guarantee(1.0), make, part="impression 78")
    before = ledger.statement()
    ledger.forget()
    ledger.forget()
    after = ledger.statement()
    assert after.worst == before.worst
    assert after.worst.epsilon == 3.0
    assert [d.epsilon for d in after.debits] == [d.epsilon for d in before.debits]
    content = (tmp_path / "ledger" / "debits.sqlite").read_bytes()
    assert secret not in content
    assert b"impression 77" not in content
    for epoch in (0, 1, 2):
        with pytest.raises(BudgetExhausted, match="forgotten"):
            ledger.release("sketch", epoch, guarantee(0.25), make, fallback_to_old=True)
    clock.set_to_epoch(3)
    with pytest.raises(BudgetExhausted, match="forgotten"):
        ledger.release("gradient", 3, guarantee(0.25), make, since=0)
    assert ledger.release("sketch", 3, guarantee(1.0), make).origin is Origin.FRESH


def test_budget_and_schedule_hold_for_life(tmp_path):
    open_ledger(tmp_path, SetClock(1), epsilon=2.0)
    with pytest.raises(LedgerError, match=r"another budget \(ε = 2 per click"):
        open_ledger(tmp_path, SetClock(1), epsilon=3.0)
    daily = Schedule(WEEKLY.start, timedelta(days=1))
    with pytest.raises(LedgerError, match="another schedule"):
        Ledger(tmp_path / "ledger", Budget(2.0), daily, clock=SetClock(1))
    elsewhere = Schedule(WEEKLY.start.astimezone(datetime.strptime("+0200", "%z").tzinfo), WEEKLY.length)
    assert Ledger(tmp_path / "ledger", Budget(2.0), elsewhere, clock=SetClock(1)).current_epoch() == 1


def test_the_statement_says_what_was_spent_on_what_since_when(tmp_path):
    ledger = open_ledger(tmp_path, SetClock(2), epsilon=2.0, delta=1e-5)
    ledger.release("sketch", 1, guarantee(1.0, 1e-6), Maker(), clicks=10)
    ledger.release("label", 1, guarantee(0.5), Maker(), part="impression 9", clicks=1)
    statement = read_statement(tmp_path / "ledger")
    assert statement == ledger.statement()
    assert statement.all_clicks.epsilon == 10.5
    assert statement.all_clicks.delta == pytest.approx(10 * np.exp(9.0) * 1e-6)
    text = str(statement)
    assert "since 2026-01-19" in text
    assert "Most that one click has cost so far: ε = 1.5, δ = 1e-06" in text
    assert "All clicks together: at most ε = 10.5, δ = 0.081 (which articles; how many clicks, when" in text
    assert "impression 9" in text
    assert "topic histogram v2" in text
    parsed = json.loads(json.dumps(statement.to_json()))
    assert parsed["budget"]["unit"] == "click"
    assert [d["purpose"] for d in parsed["debits"]] == ["sketch", "label"]
    assert parsed["epochs"] == [{"epoch": 1, "epsilon": 1.5, "delta": 1e-6}]
    assert (parsed["worst"]["epsilon"], parsed["since"]) == (1.5, "2026-01-19T01:00:00+00:00")


def test_an_unknown_number_of_clicks_makes_their_sum_unknown(tmp_path):
    ledger = open_ledger(tmp_path, SetClock(2))
    assert "Nothing has been spent" in str(ledger.statement())
    ledger.release("sketch", 1, guarantee(1.0), Maker())
    assert ledger.statement().all_clicks is None
    assert "not known" in str(ledger.statement())


def test_there_is_no_statement_without_a_ledger(tmp_path):
    for folder in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(DiscreetError, match="there is no ledger here"):
            read_statement(folder)


def test_a_release_from_a_mechanism_goes_through_and_comes_back(tmp_path):
    terms = guarantee(1.0)
    made = seal(LatticePayload(np.array([3, -4, 700]), 0.25), terms, SecureNoise())
    answer = open_ledger(tmp_path, SetClock(1)).release("sketch", 1, terms, made.to_bytes)
    kept = open_ledger(tmp_path, SetClock(1)).release("sketch", 1, terms, made.to_bytes)
    assert Release.from_bytes(kept.payload) == made
    assert kept.guarantee == answer.guarantee == made.guarantee


def test_the_tiniest_delta_is_nothing_for_a_large_enough_group():
    debit = Debit(1, 0, "sketch", "", 0, 0, 1.0, 1e-310, 1000, State.RELEASED, "noise", 1)
    assert all_clicks(Unit.CLICK, [debit]).delta == 1.0
