"""Notices reach whoever is watching as they stand."""

from discreet.progress import notice, shown


def test_square_brackets_are_no_markup(capsys):
    lines = ["pip install 'discreet[lm]'", "node 2: refused, [/red] [bold]disk[/bold]"]
    with shown():
        for line in lines:
            notice(line)
    assert capsys.readouterr().err.splitlines() == lines


def test_nothing_is_said_when_nobody_is_watching(capsys):
    notice("a word to nobody")
    assert capsys.readouterr().err == ""
