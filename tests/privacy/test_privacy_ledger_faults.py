import json
import os
import random
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from privacy_ledger_tools import WEEKLY, Maker, SetClock, guarantee, open_ledger
from tools import require, tool

from discreet.privacy.guarantee import Unit
from discreet.privacy.ledger import (
    Budget,
    BudgetExhausted,
    Ledger,
    LedgerError,
    LedgerUntrusted,
    Origin,
    State,
    read_statement,
)

WITH_TOOLS = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}


@pytest.fixture
def spent(tmp_path: Path) -> Path:
    """The folder of a ledger that has paid for three releases."""
    ledger = open_ledger(tmp_path, SetClock(4))
    for epoch in range(3):
        ledger.release("sketch", epoch, guarantee(1.0), Maker())
    return tmp_path / "ledger"


def reopen(folder: Path, epoch: int = 4) -> Ledger:
    return open_ledger(folder.parent, SetClock(epoch))


def recover(folder: Path, epoch: int = 4, budget: float = 2.0) -> Ledger:
    return Ledger.recover(folder, Budget(budget), WEEKLY, clock=SetClock(epoch))


def test_only_the_owner_can_read_the_files(spent):
    assert stat.S_IMODE(spent.stat().st_mode) == 0o700
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in spent.iterdir()} == {
        "debits.sqlite": 0o600,
        "anchor.json": 0o600,
        "lock": 0o600,
    }


def change(folder: Path, *statements: str) -> None:
    connection = sqlite3.connect(folder / "debits.sqlite")
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_a_newer_ledger_is_named_as_such_and_left_alone(spent):
    change(spent, "PRAGMA user_version = 99")
    before = (spent / "debits.sqlite").read_bytes()
    for attempt in (reopen, recover, read_statement):
        with pytest.raises(
            LedgerError, match=r"newer Discreet \(ledger version 99, this one knows 2\); update Discreet"
        ):
            attempt(spent)
    assert (spent / "debits.sqlite").read_bytes() == before


@pytest.mark.parametrize("statement", ["DELETE FROM debit", "UPDATE debit SET epsilon = 0"])
def test_the_database_itself_refuses_to_take_debits_back(spent, statement):
    with pytest.raises(sqlite3.IntegrityError, match="a debit is never"):
        change(spent, statement)
    assert len(reopen(spent).statement().debits) == 3


def overwrite_with_garbage(folder: Path) -> None:
    (folder / "debits.sqlite").write_bytes(b"this is no database" * 1000)


def damage_a_page(folder: Path) -> None:
    content = bytearray((folder / "debits.sqlite").read_bytes())
    content[4096:] = bytes(b ^ 0x5A for b in content[4096:])
    (folder / "debits.sqlite").write_bytes(content)


def cut_in_half(folder: Path) -> None:
    os.truncate(folder / "debits.sqlite", (folder / "debits.sqlite").stat().st_size // 2)


def empty(folder: Path) -> None:
    os.truncate(folder / "debits.sqlite", 0)


def remove(folder: Path) -> None:
    (folder / "debits.sqlite").unlink()


def remove_the_anchor(folder: Path) -> None:
    (folder / "anchor.json").unlink()


def garble_the_anchor(folder: Path) -> None:
    (folder / "anchor.json").write_bytes(b'{"ledger": "\xff')


def drop_the_header(folder: Path) -> None:
    change(folder, "DELETE FROM header")


def raise_the_budget(folder: Path) -> None:
    change(folder, "UPDATE header SET epsilon = 20.0")


def move_a_debit_to_a_part(folder: Path) -> None:
    change(folder, "DROP TRIGGER debits_keep_their_cost", "UPDATE debit SET cell = 'x' WHERE number = 2")


def write_what_is_no_text(folder: Path) -> None:
    change(folder, "UPDATE debit SET purpose = CAST(x'ff' AS TEXT) WHERE number = 2")


def write_nonsense(folder: Path) -> None:
    change(folder, "UPDATE header SET unit = 'banana'")


def lose_a_debit(folder: Path) -> None:
    change(folder, "DROP TRIGGER debits_stay", "DELETE FROM debit WHERE number = 3")


def put_in_another(folder: Path) -> None:
    open_ledger(folder.parent / "other", SetClock(4))
    shutil.copyfile(folder.parent / "other" / "ledger" / "debits.sqlite", folder / "debits.sqlite")


DAMAGES = [
    overwrite_with_garbage,
    damage_a_page,
    cut_in_half,
    empty,
    remove,
    remove_the_anchor,
    garble_the_anchor,
    drop_the_header,
    raise_the_budget,
    move_a_debit_to_a_part,
    write_what_is_no_text,
    write_nonsense,
    lose_a_debit,
    put_in_another,
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_cannot_be_trusted_releases_nothing_until_it_is_written_off(spent, damage):
    ledger, make = reopen(spent), Maker()
    damage(spent)
    for attempt in (
        lambda: ledger.release("label", 2, guarantee(0.5), make),
        lambda: reopen(spent).release("label", 2, guarantee(0.5), make),
    ):
        with pytest.raises(LedgerUntrusted) as caught:
            attempt()
        assert "\n" not in str(caught.value)
        assert "recover the ledger to go on" in str(caught.value)
    assert make.calls == 0

    recovered = recover(spent)
    for epoch in range(5):
        with pytest.raises(BudgetExhausted):
            recovered.release("label", epoch, guarantee(0.25), make)
    assert State.WRITTEN_OFF in {d.state for d in recovered.statement().debits}
    assert recovered.statement().all_clicks is None
    later = reopen(spent, epoch=5)
    assert later.release("label", 5, guarantee(2.0), make).origin is Origin.FRESH


def test_an_older_copy_put_back_is_noticed(spent):
    backup = (spent / "debits.sqlite").read_bytes()
    ledger = reopen(spent)
    ledger.release("sketch", 3, guarantee(1.0), Maker())
    (spent / "debits.sqlite").write_bytes(backup)
    with pytest.raises(LedgerUntrusted, match="has 3 debits where there were 4"):
        ledger.release("sketch", 3, guarantee(1.0), Maker())
    recovered = recover(spent)
    kept = recovered.release("sketch", 2, guarantee(1.0), Maker())
    assert kept.origin is Origin.KEPT
    assert [d.number for d in recovered.statement().debits] == [1, 2, 3, 5]


def test_a_copied_folder_is_noticed(spent):
    copy = spent.parent / "copy"
    copy.mkdir()
    shutil.copytree(spent, copy / "ledger")
    with pytest.raises(LedgerUntrusted, match="is a copy or was put back from a backup"):
        reopen(copy / "ledger")
    assert reopen(spent).statement().worst.epsilon == 1.0


def test_a_moved_folder_is_the_same_ledger(spent):
    spent.parent.joinpath("elsewhere").mkdir()
    moved = spent.rename(spent.parent / "elsewhere" / "ledger")
    assert len(reopen(moved).statement().debits) == 3


def test_an_anchor_one_debit_behind_is_what_a_crash_leaves_and_is_no_fault(spent):
    anchor = (spent / "anchor.json").read_bytes()
    reopen(spent).release("sketch", 3, guarantee(1.0), Maker())
    (spent / "anchor.json").write_bytes(anchor)
    ledger = reopen(spent)
    assert len(ledger.statement().debits) == 4
    ledger.release("sketch", 4, guarantee(1.0), Maker())
    assert json.loads((spent / "anchor.json").read_text())["debits"] == 5


def test_recovery_does_not_believe_a_clock_set_back(spent):
    remove(spent)
    recover(spent, epoch=1)
    ledger = reopen(spent, epoch=1)
    assert ledger.current_epoch() == 1
    later = reopen(spent, epoch=4)
    for epoch in range(5):
        with pytest.raises(BudgetExhausted):
            later.release("sketch", epoch, guarantee(0.25), Maker())


def test_recovery_writes_off_all_that_its_owner_has_clicks_of(spent):
    remove(spent)
    Ledger.recover(spent, Budget(2.0), WEEKLY, clock=SetClock(4), through=7)
    later = reopen(spent, epoch=9)
    with pytest.raises(BudgetExhausted):
        later.release("sketch", 7, guarantee(0.25), Maker())
    assert later.release("sketch", 8, guarantee(0.25), Maker()).origin is Origin.FRESH


def test_no_flipped_byte_understates_what_was_spent(tmp_path):
    ledger = open_ledger(tmp_path, SetClock(4))
    for epoch in range(3):
        ledger.release("sketch", epoch, guarantee(1.0), Maker())
        for part in ("a", "b"):
            ledger.release("label", epoch, guarantee(0.25), Maker(), part=part)
    ledger.forget()
    folder = tmp_path / "ledger"
    true = ledger.statement().by_epoch
    file = folder / "debits.sqlite"
    content = file.read_bytes()
    lines = set()
    used = [place for place in range(len(content)) if content[place]]
    for place in random.Random(5).sample(used, 250):
        for change in (1, 0x80):
            flipped = bytearray(content)
            flipped[place] ^= change
            file.write_bytes(flipped)
            try:
                said = read_statement(folder).by_epoch
            except LedgerError as error:
                lines.add(str(error).count("\n"))
            else:
                assert said == true, f"byte {place} by {change}"
    assert lines == {0}
    file.write_bytes(content)
    assert read_statement(folder).by_epoch == true


def test_recovery_writes_off_the_budget_that_was_promised_not_another(spent):
    remove_the_anchor(spent)
    with pytest.raises(LedgerError, match="another budget"):
        recover(spent, budget=0.01)
    with pytest.raises(BudgetExhausted):
        reopen(spent).release("label", 1, guarantee(0.25), Maker())


def test_a_user_whose_ledger_is_lost_has_nothing_left(tmp_path):
    open_ledger(tmp_path, SetClock(1), unit=Unit.USER)
    remove(tmp_path / "ledger")
    lost = Ledger.recover(tmp_path / "ledger", Budget(2.0, unit=Unit.USER), WEEKLY, clock=SetClock(1))
    assert lost.current_epoch() == 1
    with pytest.raises(BudgetExhausted):
        open_ledger(tmp_path, SetClock(9), unit=Unit.USER).release("x", 9, guarantee(0.1, unit=Unit.USER), Maker())


def run_apart(code: str, folder: Path) -> str:
    """Run code in a process of its own, with the tools imported and `folder` set; return what it prints."""
    start = "import os, sys; from pathlib import Path; from privacy_ledger_tools import *\n"
    command = [sys.executable, "-c", start + "folder = Path(sys.argv[1])\n" + code, str(folder)]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=WITH_TOOLS, timeout=60).stdout


FULL_DISK = """
import resource
from discreet.privacy.ledger import LedgerError
ledger, make = open_ledger(folder.parent, SetClock(4)), Maker()
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, resource.RLIM_INFINITY))
try:
    ledger.release("sketch", 3, guarantee(1.0), lambda: make() * {size})
except LedgerError as error:
    print(make.calls, error)
"""


def test_on_a_full_disk_nothing_is_made_and_nothing_spent(spent):
    printed = run_apart(FULL_DISK.format(limit=0, size=1), spent)
    assert printed.startswith("0 ")
    assert printed.endswith("nothing was spent or released\n")
    assert printed.count("\n") == 1
    assert len(reopen(spent).statement().debits) == 3


def test_a_release_that_cannot_be_kept_is_not_sent_and_stays_spent(spent):
    printed = run_apart(FULL_DISK.format(limit=200_000, size=100_000), spent)
    assert printed.startswith("1 ")
    assert "was not sent; what it cost stays spent" in printed
    assert [d.state for d in reopen(spent).statement().debits][-1] is State.DEBITED


READ_ONLY = """
from discreet.privacy.ledger import LedgerError, read_statement
make = Maker()
ledger = open_ledger(folder.parent, SetClock(4))
for path in (*folder.iterdir(), folder):
    path.chmod(0o500 if path.is_dir() else 0o400)
if os.getuid() == 0:
    for path in (*folder.iterdir(), folder, folder.parent):
        os.chown(path, 65534, 65534)
    os.setuid(65534)
print(ledger.release("sketch", 2, guarantee(1.0), make).origin)
try:
    ledger.release("sketch", 3, guarantee(1.0), make)
except LedgerError as error:
    print(make.calls, error)
print(len(read_statement(folder).debits))
"""


def test_what_is_read_only_still_answers_from_what_is_kept_but_makes_nothing():
    with tempfile.TemporaryDirectory() as name:
        ledger = open_ledger(Path(name), SetClock(4))
        ledger.release("sketch", 2, guarantee(1.0), Maker())
        kept, refused, count = run_apart(READ_ONLY, Path(name) / "ledger").splitlines()
        (Path(name) / "ledger").chmod(0o700)
    assert kept == "kept"
    assert refused.startswith("0 ")
    assert refused.endswith("nothing was spent or released")
    assert count == "1"


TRACED = """
ledger = open_ledger(folder.parent, SetClock(4))
def make():
    os.write(2, b"MAKE")
    return b"made"
os.write(2, b"ASK")
ledger.release("sketch", 3, guarantee(1.0), make)
"""


def test_all_is_flushed_before_anything_is_made(spent, tmp_path):
    """The system calls themselves: what was written or renamed is followed by a flush, and only then `make` runs."""
    strace = tool("strace")
    probe = subprocess.run([strace, "-o", os.devnull, "true"], capture_output=True, check=False)
    require(probe.returncode == 0, "nobody may use strace here")
    log, script = tmp_path / "calls", tmp_path / "traced.py"
    start = "import os, sys; from pathlib import Path; from privacy_ledger_tools import *\n"
    script.write_text(start + f"folder = Path({str(spent)!r})\n" + TRACED)
    calls = "trace=write,pwrite64,fsync,fdatasync,unlink,unlinkat,rename,renameat,renameat2"
    command = [strace, "-y", "-e", calls, "-o", str(log), sys.executable, str(script)]
    subprocess.run(command, check=True, capture_output=True, env=WITH_TOOLS, timeout=60)
    before_make = re.split(r'write\(2.*"(?:ASK|MAKE)"', log.read_text())[1].splitlines()
    dirty: set[str] = set()
    debit_written = False
    for call in before_make:
        if match := re.match(r"(?:write|pwrite64)\(\d+<(.*?)>", call):
            dirty.add(match[1])
            debit_written |= match[1].endswith("debits.sqlite")
        elif re.match(r"(?:unlink|rename).* = 0$", call):
            dirty.add(str(spent))
        elif match := re.match(r"(?:fsync|fdatasync)\(\d+<(.*?)>", call):
            dirty.discard(match[1])
    assert debit_written
    assert not dirty
