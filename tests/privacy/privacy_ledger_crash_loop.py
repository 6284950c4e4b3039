"""Forks devices that release without end, kills each one without warning, and prints how many it killed.

Run as a program of its own, so that it has one thread and has imported everything once:
    privacy_ledger_crash_loop.py random FOLDER SEED KILLS     SIGKILL after 1 to 40 ms, longer if the disk is slow
    privacy_ledger_crash_loop.py lines FOLDER                 SIGKILL before each line that has to do with writing

`made` has a line for each call of `make`, `outbox` one for each answer that left the device. Both are written with
one unbuffered append, so that a killed device has either left the line or not.
"""

import os
import random
import secrets
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from privacy_ledger_tools import SetClock, guarantee, open_ledger

from discreet.privacy import ledger
from discreet.privacy.ledger import BudgetExhausted, Ledger

EPOCHS = 200
PURPOSES = ("sketch", "label")
WATCHED = {str(Path(ledger.__file__).with_name(f"{name}.py")) for name in ("ledger", "ledger_store", "anchor")}
if missing := [name for name in WATCHED if not Path(name).is_file()]:
    raise SystemExit(f"there is no {missing[0]}")


def append(path: Path, line: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(handle, line.encode() + b"\n")
    os.close(handle)


def ask(book: Ledger, folder: Path, purpose: str, epoch: int) -> None:
    def make() -> bytes:
        append(folder / "made", f"{purpose} {epoch}")
        return secrets.token_bytes(16)

    try:
        answer = book.release(purpose, epoch, guarantee(1.0), make, clicks=1)
    except BudgetExhausted:
        append(folder / "refused", f"{purpose} {epoch}")
    else:
        append(folder / "outbox", f"{purpose} {epoch} {answer.payload.hex()}")


def device(folder: Path, seed: int) -> None:
    """Opens the ledger and asks for random releases; about one in three was asked for before."""
    choose = random.Random(seed)
    mine = open_ledger(folder, SetClock(EPOCHS), epsilon=3.0)
    while True:
        ask(mine, folder, choose.choice(PURPOSES), choose.randrange(EPOCHS))


def sent(folder: Path) -> int:
    outbox = folder / "outbox"
    return outbox.read_bytes().count(b"\n") if outbox.exists() else 0


def in_a_fork(run: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        try:
            run()
        except BaseException as error:
            append(Path(sys.argv[2]) / "errors", repr(error))
            os._exit(3)
        os._exit(0)
    return child


def duration_of_one(folder: Path) -> float:
    """How long opening a ledger and one release take here and now, in seconds."""
    (folder / "timing").mkdir()
    begin = time.monotonic()
    ask(open_ledger(folder / "timing", SetClock(EPOCHS), epsilon=3.0), folder / "timing", "sketch", 0)
    return time.monotonic() - begin


def kill_at_random(folder: Path, seed: int, kills: int) -> int:
    """At least so many kills, and on a busy machine more, until enough has left the devices to be worth checking."""
    choose = random.Random(seed)
    longest = max(0.040, 4 * duration_of_one(folder))
    killed = 0
    while killed < kills or (sent(folder) < kills and killed < 20 * kills):
        child = in_a_fork(lambda n=killed: device(folder, seed + n))  # type: ignore[misc]
        time.sleep(choose.uniform(0.001, longest))
        os.kill(child, signal.SIGKILL)
        if not os.WIFSIGNALED(os.waitpid(child, 0)[1]):
            raise SystemExit((folder / "errors").read_text())
        killed += 1
    return killed


def kill_before_line(number: int) -> None:
    """Let this process be killed just before it runs the ledger's line of that number, counted as they run."""
    left = number

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename not in WATCHED:
            return None
        if event == "line":
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


def kill_at_each_line(folder: Path) -> int:
    """A device that opens the ledger and asks once, killed one line later each time, until it gets through."""
    killed = 0
    while True:

        def run(line: int = killed) -> None:
            kill_before_line(line)
            mine = open_ledger(folder / f"line {line}", SetClock(EPOCHS), epsilon=1.0)
            ask(mine, folder / f"line {line}", "sketch", 7)

        (folder / f"line {killed}").mkdir()
        if not os.WIFSIGNALED(os.waitpid(in_a_fork(run), 0)[1]):
            return killed
        killed += 1


if __name__ == "__main__":
    where = Path(sys.argv[2])
    if sys.argv[1] == "random":
        print(kill_at_random(where, int(sys.argv[3]), int(sys.argv[4])))
    else:
        print(kill_at_each_line(where))
