"""Notices reach whoever is watching as they stand."""

import io

from rich.console import Console
from rich.progress import Progress

from discreet.progress import bars_aside, notice, notice_once, shown, shown_by, track


def test_square_brackets_are_no_markup(capsys):
    lines = ["pip install 'discreet[lm]'", "node 2: refused, [/red] [bold]disk[/bold]"]
    with shown():
        for line in lines:
            notice(line)
    assert capsys.readouterr().err.splitlines() == lines


def test_nothing_is_said_when_nobody_is_watching(capsys):
    notice("a word to nobody")
    assert capsys.readouterr().err == ""


def test_a_bar_counts_what_is_in_the_items():
    progress = Progress(console=Console(file=io.StringIO(), force_terminal=True))
    with shown_by(progress):
        steps = track("abc", "Letters", sizes=[3, 0, 4])
        done = [(progress.tasks[0].completed, progress.tasks[0].total) for _ in steps]
    assert done == [(0, 7), (3, 7), (3, 7)]


def test_bars_are_away_while_something_is_printed_and_back_afterwards():
    progress = Progress(console=Console(file=io.StringIO(), force_terminal=True))
    with shown_by(progress):
        for _ in track(range(1), "Work"):
            with bars_aside():
                assert not progress.live.is_started
            assert progress.live.is_started
        with bars_aside():
            pass
        assert not progress.live.is_started
    with bars_aside():
        pass


def test_what_several_parts_say_is_said_once_in_a_block(capsys):
    for _ in range(2):
        with shown():
            notice_once("titles as vectors: hashed words")
            notice_once("titles as vectors: hashed words")
            notice("a line")
            notice("a line")
        assert capsys.readouterr().err.splitlines() == ["titles as vectors: hashed words", "a line", "a line"]
