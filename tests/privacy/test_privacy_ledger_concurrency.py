import multiprocessing
import secrets
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import pytest
from privacy_ledger_tools import WEEKLY, Maker, SetClock, guarantee, open_ledger

from discreet.privacy.ledger import Budget, BudgetExhausted, Ledger, LedgerBusy

SPAWN = multiprocessing.get_context("spawn")


def slowly_random() -> bytes:
    time.sleep(0.02)
    return secrets.token_bytes(16)


def ask_all(folder: Path, epochs: int) -> list[bytes | None]:
    """One process: open the ledger and ask for every epoch; None where the budget is gone."""
    ledger = open_ledger(folder, SetClock(epochs), epsilon=1.0)
    answers: list[bytes | None] = []
    for epoch in range(epochs):
        try:
            answers.append(ledger.release("sketch", epoch, guarantee(1.0), slowly_random).payload)
        except BudgetExhausted:
            answers.append(None)
    return answers


def test_processes_that_ask_at_once_get_the_same_bytes_for_one_debit(tmp_path):
    with ProcessPoolExecutor(3, mp_context=SPAWN) as pool:
        answers = [future.result() for future in [pool.submit(ask_all, tmp_path, 6) for _ in range(3)]]
    assert answers[0] == answers[1] == answers[2]
    assert len(set(answers[0])) == 6
    debits = open_ledger(tmp_path, SetClock(6), epsilon=1.0).statement().debits
    assert sorted(d.last_epoch for d in debits) == list(range(6))


def ask_once(folder: Path, purpose: str) -> bool:
    try:
        open_ledger(folder, SetClock(1), epsilon=1.0).release(purpose, 1, guarantee(0.25), slowly_random)
    except BudgetExhausted:
        return False
    return True


def test_many_at_once_never_spend_more_than_the_budget(tmp_path):
    with ProcessPoolExecutor(3, mp_context=SPAWN) as pool:
        paid = [future.result() for future in [pool.submit(ask_once, tmp_path, f"purpose {i}") for i in range(12)]]
    assert sum(paid) == 4
    assert open_ledger(tmp_path, SetClock(1), epsilon=1.0).statement().worst.epsilon == 1.0


def test_threads_of_one_process_share_a_ledger(tmp_path):
    ledger, make = open_ledger(tmp_path, SetClock(4)), Maker()
    with ThreadPoolExecutor(8) as pool:
        payloads = list(pool.map(lambda i: ledger.release("sketch", i % 2, guarantee(1.0), make).payload, range(16)))
    assert make.calls == 2
    assert len(set(payloads)) == 2


def test_who_waits_too_long_is_told_and_pays_nothing(tmp_path):
    ledger = open_ledger(tmp_path, SetClock(1))
    impatient = Ledger(tmp_path / "ledger", Budget(2.0), WEEKLY, clock=SetClock(1), timeout=0.05)
    started, finish = threading.Event(), threading.Event()

    def make() -> bytes:
        started.set()
        assert finish.wait(20)
        return b"made"

    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(ledger.release, "sketch", 1, guarantee(1.0), make)
        assert started.wait(20)
        with pytest.raises(LedgerBusy, match="another process holds the ledger"):
            impatient.release("label", 1, guarantee(1.0), Maker())
        finish.set()
        assert busy.result().payload == b"made"
    assert [d.purpose for d in ledger.statement().debits] == ["sketch"]
