"""Keys, secrets and configuration files: written for their owner alone, and one clear line for each mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dap_site import example_task
from sqlalchemy.exc import OperationalError
from typer.testing import CliRunner

from discreet.aggregation.dap import key_files as files
from discreet.aggregation.dap.config import Config, read_config
from discreet.cli.aggregate import app
from discreet.errors import DiscreetError, InputError

TASK = '[[tasks]]\nterms = "t.json"\nverify_key = "v"\ncollector = "c.pub"\n'
LEAST = 'database = "d.sqlite"\nkeys = ["k"]\n'


def test_keys(tmp_path: Path) -> None:
    runner = CliRunner()
    done = runner.invoke(app, ["keygen", str(tmp_path / "k")])
    assert done.exit_code == 0, done.output
    key = files.read_key(tmp_path / "k")
    assert files.read_public_key(tmp_path / "k.pub") == key.config
    assert (tmp_path / "k").stat().st_mode & 0o777 == 0o600
    assert key.private_key.hex() not in done.output
    before = (tmp_path / "k").read_bytes()
    for more in ([], ["--secret"]):
        assert isinstance(runner.invoke(app, ["keygen", str(tmp_path / "k"), *more]).exception, InputError)
    assert (tmp_path / "k").read_bytes() == before


def test_secrets(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["keygen", str(tmp_path / "s"), "--secret"]).exit_code == 0
    assert len(files.read_verify_key(tmp_path / "s")) == 32
    assert files.read_token(tmp_path / "s") == files.read_verify_key(tmp_path / "s").hex()
    assert (tmp_path / "s").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "read", [files.read_key, files.read_public_key, files.read_verify_key, files.read_token, files.read_task]
)
@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"\xff\xfe", b'{"config": 1, "private_key": 2}', b"zz zz"])
def test_files_that_are_something_else(read, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(InputError, match="f: "):
        read(tmp_path / "f")
    with pytest.raises(InputError):
        read(tmp_path / "missing")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = [", "TOML"),
        ("", "database is missing"),
        (LEAST, "tasks is missing"),
        (LEAST + "color = 1\n" + TASK, "'color' is not known"),
        (LEAST + 'port = "a"\n' + TASK, "port"),
        (LEAST + "rate = true\n" + TASK, "rate"),
        (LEAST + "keep_days = 0\n" + TASK, "keep_days must be 0.001 or more"),
        (LEAST + "threads = 0\n" + TASK, "threads must be 1"),
        ('database = "d"\nkeys = "k"\n' + TASK, "keys"),
        (LEAST + "tasks = []\n", "one or more tasks"),
        (LEAST + '[[tasks]]\nterms = "t.json"\n', "terms, verify_key and collector"),
    ],
)
def test_configurations_that_are_refused(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(InputError, match=problem):
        read_config(tmp_path / "c.toml").agreements()


def test_a_configuration(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(example_task().to_json()))
    files.write_secret(tmp_path / "v")
    files.write_key(tmp_path / "k")
    files.write_key(tmp_path / "c")
    (tmp_path / "c.toml").write_text(LEAST + TASK)
    config = read_config(tmp_path / "c.toml")
    assert [one.task for one in config.agreements()] == [example_task()]
    helper = config.helper()
    assert (tmp_path / "d.sqlite").exists()
    helper.store.close()
    with pytest.raises(InputError, match="helper_token is missing"):
        config.leader()
    (tmp_path / "c.toml").write_text(LEAST + TASK + TASK)
    with pytest.raises(InputError, match="each once"):
        read_config(tmp_path / "c.toml").agreements()


def test_a_database_that_cannot_be_written_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write_key(tmp_path / "k")
    config = Config(database="d.sqlite", keys=["k"], tasks=[], path=tmp_path / "helper.toml")

    def is_full(*_: object) -> None:
        raise OperationalError("COMMIT", {}, Exception("database or disk is full"))

    monkeypatch.setattr("discreet.aggregation.dap.config.Store", is_full)
    with pytest.raises(DiscreetError, match=r"d.sqlite: the database cannot be used .database or disk is full"):
        config.helper()


def test_the_command_line_says_what_is_missing(tmp_path: Path) -> None:
    runner = CliRunner()
    assert "keygen" in runner.invoke(app, []).output
    for arguments in (["--as", "helper"], ["--config", "c.toml"], ["--as", "helper", "keygen", "k"]):
        assert runner.invoke(app, arguments).exit_code != 0


def test_the_recipe_of_the_documents(tmp_path: Path) -> None:
    """The task and both configurations of the how-to, with keys made as it says, are ones that can be used."""
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "run-two-aggregators.md").read_text(encoding="utf-8")
    lines = [line[4:] for line in page.splitlines() if line.startswith("    ")]
    text = "\n".join(lines)
    terms = text[text.index("discreet aggregate terms") : text.index("popularity.json")].replace("\\\n", " ").split()
    assert CliRunner().invoke(app, [*terms[2:], str(tmp_path / "popularity.json")]).exit_code == 0
    for command in (line.split("#")[0].split() for line in lines if line.startswith("discreet aggregate keygen")):
        assert CliRunner().invoke(app, [*command[2:3], str(tmp_path / command[3]), *command[4:]]).exit_code == 0
    for role, others in (("helper", "discreet aggregate --as helper"), ("leader", "discreet serve")):
        path = tmp_path / f"{role}.toml"
        path.write_text(text[text.index(f"# {role}.toml") :].partition(others)[0])
        config = read_config(path)
        made = config.leader() if role == "leader" else config.helper()
        assert [one.task.name for one, _ in made.tasks.values()] == ["front page popularity"]
        made.store.close()
    assert config.collector() is not None


@pytest.mark.parametrize("helper", ["https://n.example", "https://N.example:443/helper"])
def test_terms_of_one_server_that_is_both_aggregators_are_not_written(tmp_path: Path, helper: str) -> None:
    """They would be called proved, and no device takes part in them."""
    out = tmp_path / "popularity.json"
    flags = ["--leader", "https://n.example/dap", "--helper", helper, "--epsilon", "1", "--out", str(out)]
    refused = CliRunner().invoke(app, ["terms", "popularity", *flags])
    assert "one party that runs both sees everything" in str(refused.exception)
    assert not out.exists()
