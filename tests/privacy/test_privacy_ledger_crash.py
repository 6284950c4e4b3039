import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from privacy_ledger_crash_loop import EPOCHS
from privacy_ledger_tools import Maker, SetClock, guarantee, open_ledger

from discreet.privacy.ledger import BudgetExhausted, Origin

LOOP = Path(__file__).with_name("privacy_ledger_crash_loop.py")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: what a kill leaves behind is the same, and nobody waits for a disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as name:
        yield Path(name)


def crash(*arguments: object) -> int:
    """Run the crash loop and return how many devices it killed."""
    command = [sys.executable, str(LOOP), *map(str, arguments)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def lines(path: Path) -> list[tuple[str, ...]]:
    return [tuple(line.split()) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize("runs", [48, pytest.param(240, marks=pytest.mark.slow)])
def test_killed_at_random_the_ledger_never_counts_too_little(folder, runs):
    kills = crash("random", folder, 20260105, runs)
    assert kills >= runs * 5 // 6
    assert not lines(folder / "errors")

    ledger = open_ledger(folder, SetClock(EPOCHS), epsilon=3.0)
    statement = ledger.statement()
    paid = Counter((d.purpose, str(d.last_epoch)) for d in statement.debits)
    made = Counter(lines(folder / "made"))
    outbox = lines(folder / "outbox")
    assert len(outbox) >= runs * 5 // 6, "the devices must have come to release something"
    assert all(paid[key] >= count for key, count in made.items()), "something was made that was not paid"
    assert all(paid[purpose, epoch] for purpose, epoch, _ in outbox), "something left that was not paid"
    assert sum(made.values()) <= len(statement.debits)

    for epoch, spend in statement.by_epoch.items():
        attempts = sum(count for (_, of), count in made.items() if of == str(epoch))
        assert attempts * 1.0 <= spend.epsilon <= 3.0

    sent: dict[tuple[str, str], set[str]] = {}
    for purpose, epoch, payload in outbox:
        sent.setdefault((purpose, epoch), set()).add(payload)
    assert all(len(payloads) == 1 for payloads in sent.values()), "one release left in two forms"
    for (purpose, epoch), payloads in sent.items():
        answer = ledger.release(purpose, int(epoch), guarantee(1.0), Maker())
        assert answer.origin is Origin.KEPT
        assert {answer.payload.hex()} == payloads


@pytest.mark.long
def test_killed_before_any_line_the_ledger_never_counts_too_little(folder):
    kills = crash("lines", folder)
    assert kills > 200
    after_debit = 0
    for line in range(kills + 1):
        device = folder / f"line {line}"
        ledger, make = open_ledger(device, SetClock(EPOCHS), epsilon=1.0), Maker()
        made, outbox = lines(device / "made"), lines(device / "outbox")
        spent = ledger.statement().worst.epsilon
        assert len(outbox) <= len(made) <= spent <= 1.0, f"killed before line {line}"
        try:
            answer = ledger.release("sketch", 7, guarantee(1.0), make)
        except BudgetExhausted:
            after_debit += 1
            assert (spent, outbox, make.calls) == (1.0, [], 0)
        else:
            assert answer.origin is (Origin.KEPT if spent else Origin.FRESH)
            assert not outbox or outbox[0][2] == answer.payload.hex()
    assert after_debit > 20, "some of the kills must fall between debit and release"
    assert len(lines(folder / f"line {kills}" / "outbox")) == 1


def test_a_killed_process_leaves_no_lock_behind(folder):
    crash("random", folder, 7, 3)
    ledger = open_ledger(folder, SetClock(EPOCHS), epsilon=3.0)
    assert ledger.release("after", 0, guarantee(0.5), Maker()).origin is Origin.FRESH
    with pytest.raises(BudgetExhausted):
        ledger.release("after", 1, guarantee(4.0), Maker())
