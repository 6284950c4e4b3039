"""What a user mistypes is refused in one line that says what to do, before anything is begun or written."""

import errno
import re
from pathlib import Path
from unittest.mock import Mock

import pytest

from discreet.cli import run
from discreet.progress import counted


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "world").mkdir()
    (tmp_path / "words.txt").write_text("a text\n")
    (tmp_path / "empty").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys, *words):
    """The one line with which these words are refused."""
    before = {*Path().rglob("*")}
    assert run(list(words)) == 2
    line = capsys.readouterr().err
    assert re.fullmatch(r"discreet: .*\n", line), line
    assert {*Path().rglob("*")} == before
    return line


@pytest.mark.parametrize("listed", ["1,,3", "", ",", "1,", ",1", "1, ,3", "nan", "0", "1,-2", "one"])
@pytest.mark.parametrize("command", ["compare world", "vendors compare words.txt"])
def test_a_list_of_budgets_has_no_gap(here, capsys, command, listed):
    assert "--epsilon takes positive numbers" in refused(capsys, *command.split(), "--epsilon", listed)


@pytest.mark.parametrize("listed", ["", "content,", "content,,random"])
def test_a_list_of_methods_or_values_has_no_gap(here, capsys, listed):
    assert "--methods takes names" in refused(capsys, "compare", "world", "--methods", listed)
    values = listed.replace("content", "1").replace("random", "2")
    assert "--set takes NAME=VALUE" in refused(capsys, "compare", "world", "--set", f"rounds={values}")


@pytest.mark.parametrize(
    ("setting", "wanted"),
    [
        ('port = "eighty"', "port: it is a whole number from 0 to 65535, not 'eighty'"),
        ("port = 70000", "port: it is a whole number from 0 to 65535, not 70000"),
        ("port = 80.5", "port: it is a whole number from 0 to 65535, not 80.5"),
        ("diversity = nan", "diversity: it is a number from 0"),
        ('diversity = "some"', "not 'some'"),
    ],
)
def test_a_setting_that_is_no_such_number_says_which_it_takes(here, capsys, setting, wanted):
    (here / "discreet.toml").write_text(setting)
    line = refused(capsys, "serve", "--check")
    assert wanted in line
    assert "range" not in line
    assert "valid" not in line


@pytest.mark.parametrize("value", ["eighty", "-1", "70000", "1.5"])
def test_an_option_that_is_no_such_number_says_which_it_takes(here, capsys, value):
    assert "'--port': it is a whole number from 0 to 65535, not" in refused(capsys, "serve", "--port", value)


@pytest.mark.parametrize("file", ["words.txt", "empty"])
@pytest.mark.parametrize("options", [[], ["--database", "new.sqlite"], ["--aggregate", "new"]])
def test_what_is_no_backup_is_not_called_one(here, capsys, file, options):
    assert f"{file}: is neither a backup nor a copy of a database" in refused(capsys, "restore", file, *options)


def test_a_demonstration_that_cannot_write_does_not_begin(here, capsys, monkeypatch):
    monkeypatch.setattr("discreet.serving.addresses.listen", lambda *_: pytest.fail("it has begun"))
    monkeypatch.setattr("tempfile.TemporaryFile", Mock(side_effect=OSError(errno.EROFS, "Read-only file system")))
    assert "cannot be written" in refused(capsys, "demo", "--no-serve")


def test_a_demonstration_replaces_its_own_folder_only(here, capsys, monkeypatch):
    monkeypatch.setattr("discreet.serving.addresses.listen", lambda *_: pytest.fail("it has begun"))
    (here / "demo" / "served").mkdir(parents=True)
    (here / "demo" / "served" / "mine").write_text("kept")
    assert "was not written by Discreet" in refused(capsys, "demo", "--no-serve")


def test_films_are_not_unequal_beyond_numbers(here, capsys):
    for skew in ("nan", "inf"):
        assert "skew" in refused(capsys, "data", "synth", "films", "--ratings", "--skew", skew)


def test_one_is_no_plural(here, capsys):
    assert [counted(number, "rating") for number in (0, 1, 2, 2000)] == [
        "0 ratings",
        "1 rating",
        "2 ratings",
        "2,000 ratings",
    ]
    (here / "one.csv").write_text("user,item,rating\na,i,1\nb,i,5\n")
    assert " 1 rating cannot" in refused(capsys, "vendors", "compare", "one.csv", "--vendors", "2", "--methods", "full")
