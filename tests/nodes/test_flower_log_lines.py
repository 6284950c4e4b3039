"""What a program tells in its log is what its listener shows, and everything else is left alone."""

from __future__ import annotations

import pytest
from rich.console import Console
from rich.progress import Progress

from discreet.nodes.flower.log_lines import MARK, Listener, progress_in_log, write_failure, write_result
from discreet.progress import notice, shown_by, status, track


def test_progress_notices_and_result_cross_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_in_log():
        notice("a notice of [brackets], " + "as long as " * 40 + "it likes")
        for step in track(range(3), "Rounds"):
            status(f"loss {step}")
    write_result({"answer": [1, 2]})
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith(MARK) for line in lines)

    screen = Console(record=True, width=1000, force_terminal=True)
    bars = _Recorder(screen)
    listener = Listener()
    with shown_by(bars):
        for line in lines:
            assert listener.hear(line)
        listener.close()
    assert listener.result == {"answer": [1, 2]}
    assert listener.failure is None
    assert bars.said == [("Rounds", 3), "Rounds · loss 0", 1, "Rounds · loss 1", 1, "Rounds · loss 2", 1, "removed"]
    assert "as long as it likes" in screen.export_text()


def test_a_failure_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    write_failure("data: is not there")
    listener = Listener()
    assert listener.hear(capsys.readouterr().out.rstrip("\n"))
    assert listener.failure == "data: is not there"


@pytest.mark.parametrize(
    "line",
    ["", "INFO: Flower says this", MARK, MARK + "no json", MARK + '{"advance": 1}', MARK + '{"other": 1}', MARK + "[]"],
)
def test_other_lines_are_not_ours(line: str) -> None:
    listener = Listener()
    assert not listener.hear(line)
    assert (listener.result, listener.failure) == (None, None)


class _Recorder(Progress):
    """Keeps what bars do."""

    def __init__(self, console: Console) -> None:
        super().__init__(console=console, auto_refresh=False)
        self.said: list[object] = []

    def start(self) -> None:
        pass

    def add_task(self, description, start=True, total=100.0, *rest, **more):
        self.said.append((description, total))
        return super().add_task(description, start, total, *rest, **more)

    def advance(self, task_id, advance=1):
        self.said.append(advance)
        super().advance(task_id, advance)

    def update(self, task_id, *, description=None, **changes):
        self.said.append(description)
        super().update(task_id, description=description, **changes)

    def remove_task(self, task_id):
        self.said.append("removed")
        super().remove_task(task_id)
