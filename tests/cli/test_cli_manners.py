"""What the command line says and how soon: versions, completion, errors, what is loaded, sweeps."""

import json
import os
import re
import subprocess
import sys

import pytest

from discreet import __version__
from discreet.cli import run

HEAVY = {"torch", "polars", "numba", "matplotlib", "scipy", "numpy", "safetensors"}
LOADED = f"""
import json, sys
from discreet.cli import run
found = []
for words in json.loads(sys.argv[1]):
    code = run(words)
    found.append([words, code, sorted({HEAVY!r} & set(sys.modules))])
print()
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("manners") / "world"
    assert run(["data", "synth", str(folder), "--readers", "150", "--json"]) == 0
    return folder


def test_help_and_mistyped_paths_load_nothing_heavy(tmp_path):
    """One after the other in one process, so that what one has loaded is not forgotten."""
    wanted = [
        (["--help"], 0),
        (["--version"], 0),
        (["train", "--help"], 0),
        (["compare", "nowhere"], 2),
        (["train", "nowhere", "--method", "combined", "--out", "run"], 2),
        (["train", ".", "--method", "combined", "--out", "run", "--text", "nowhere"], 2),
        (["train", ".", "--method", "combined", "--out", "."], 2),
        (["evaluate", "nowhere", "nowhere"], 2),
        (["data", "check", "nowhere"], 2),
        (["data", "synth", "."], 2),
        (["vendors", "compare", "nowhere"], 2),
        (["vendors", "share", "nowhere", "--epsilon", "1"], 2),
        (["vendors", "read", "nowhere", "nowhere"], 2),
        (["reproduce", "table-1", "nowhere"], 2),
    ]
    (tmp_path / "something").write_text("")
    command = [sys.executable, "-c", LOADED, json.dumps([words for words, _ in wanted])]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert json.loads(done.stdout.splitlines()[-1]) == [[words, code, []] for words, code in wanted], done.stderr


def test_the_version_is_that_of_the_package(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"discreet {__version__}\n"


@pytest.mark.long
def test_an_audit_prints_its_results_and_nothing_else():
    audits = ["label permutation", "exponential"]
    command = [sys.executable, "-W", "always", "-m", "discreet", "audit", *audits]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    heading, *rows = done.stdout.splitlines()
    assert heading.split() == ["Mechanism", "Status", "Claim", "Lower", "bound", "Verdict"]
    assert all(row.startswith(tuple(audits)) for row in rows[:-1])
    assert rows[-1].startswith(f"Audits: {len(rows) - 1}. ")


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ("compare WORLD --methods random,content --text hashed", [r"random( +\S+){3,}", r"content( +\S+){3,}"]),
        (
            "vendors compare FILMS --vendors 2 --methods dp_averages --epsilon 1 --iterations 4",
            [r"dp_averages( +\S+){4,}"],
        ),
        ("evaluate RUN WORLD", [r"random( +\S+){3,}"]),
        ("list", ["inferred_interests  The server ranks by the levels of interest that a device sends as noised bits"]),
        ("data check WORLD", [r"impressions +\d+ +\d+"]),
        ("audit exponential", [r"exponential \(C=3 ε=1, exact\) +proved +ε ≤ 1 +ε ≥ 0\.\d+ +holds"]),
    ],
    ids=lambda words: words.partition(" ")[0] if isinstance(words, str) else "",
)
@pytest.mark.long
def test_a_pipe_has_no_width(world, tmp_path, words, rows):
    """Each row is one line, and all of it."""
    places = {"WORLD": world, "FILMS": tmp_path / "films", "RUN": tmp_path / "run"}
    if "FILMS" in words:
        run(["data", "synth", str(places["FILMS"]), "--ratings", "--readers", "60", "--items", "90", "--count", "900"])
    if "RUN" in words:
        run(["train", str(world), "--method", "random", "--text", "hashed", "--out", str(places["RUN"])])
    command = [sys.executable, "-m", "discreet", *(str(places.get(word, word)) for word in words.split())]
    command += ["--out", str(tmp_path / "out")] if "compare" in words else []
    narrow = os.environ | {"COLUMNS": "20"}
    printed = subprocess.run(command, capture_output=True, text=True, check=True, env=narrow).stdout
    for row in rows:
        assert re.search(f"^{row}", printed, re.MULTILINE), printed
    assert "…" not in printed


def test_a_shell_can_complete_commands():
    asked = {"_DISCREET_COMPLETE": "complete_bash", "COMP_WORDS": "discreet tr", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "discreet"], capture_output=True, text=True, check=False, env=os.environ | asked
    )
    assert done.stdout.split() == ["train"]


def test_verbose_shows_progress_and_where_an_error_came_from(world, tmp_path, capsys):
    assert run(["--verbose", "compare", str(world), "--methods", "random", "--out", str(tmp_path / "r")]) == 0
    assert "random, seed 0: training and measuring" in capsys.readouterr().err
    assert run(["--verbose", "compare", str(world), "--methods", "nothing", "--out", str(tmp_path / "r")]) == 2
    told = capsys.readouterr().err
    assert "Traceback" in told
    assert told.splitlines()[-1].startswith("discreet: no method is called 'nothing'")
    assert run(["compare", str(world), "--methods", "nothing", "--out", str(tmp_path / "r")]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(("library", "extra"), [("fastapi", "serve"), ("psycopg", "postgres"), ("flwr.app", "flower")])
def test_a_missing_extra_is_one_line_with_the_command(monkeypatch, capsys, library, extra):
    def without(*_):
        raise ModuleNotFoundError(f"No module named '{library}'", name=library)

    monkeypatch.setattr("discreet.cli.listing.load_plugins", without)
    assert run(["list"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.endswith(f"it comes with: pip install '.[{extra}]' (in a clone of Discreet)\n")


def test_list_has_defaults_and_types(capsys):
    assert run(["list", "--json"]) == 0
    methods = {method["method"]: method["settings"] for method in json.loads(capsys.readouterr().out)["methods"]}
    assert methods["random"] == {}
    assert methods["popularity"] == {"prior_shows": {"type": "float", "default": 20.0}}
    assert methods["privaterec"]["model"] == {"type": "str", "default": "plm_nr"}
    assert methods["privaterec"]["epsilon_serving"] == {"type": "float | None", "default": None}
    for settings in methods.values():
        for setting in settings.values():
            assert set(setting) == {"type", "default"}


def test_each_value_of_a_sweep_is_a_row(world, tmp_path, capsys):
    sweep = ["compare", str(world), "--methods", "popularity,random", "--set", "prior_shows=1,10,100"]
    assert run([*sweep, "--out", str(tmp_path / "r"), "--json"]) == 0
    methods = json.loads(capsys.readouterr().out)["methods"]
    assert [method["settings"].get("prior_shows") for method in methods] == [1, 10, 100, None]
    assert run([*sweep, "--out", str(tmp_path / "r")]) == 0
    told = capsys.readouterr().out
    assert all(f"prior_shows={value}" in told for value in (1, 10, 100))
    assert run(["train", str(world), "--method", "popularity", "--set", "prior_shows=1,2", "--out", "x"]) == 2
    assert "'discreet compare' takes several" in capsys.readouterr().err


def test_a_ranking_by_titles_that_are_not_there_says_so(world, tmp_path, capsys):
    untitled = tmp_path / "untitled"
    for split in ("train", "dev"):
        (untitled / split).mkdir(parents=True)
        behaviors = (world / split / "behaviors.tsv").read_bytes()
        (untitled / split / "behaviors.tsv").write_bytes(behaviors)
        lines = [line.split("\t") for line in (world / split / "news.tsv").read_text().splitlines()]
        bare = ["\t".join([*line[:3], "", "", *line[5:]]) + "\n" for line in lines]
        (untitled / split / "news.tsv").write_text("".join(bare))
    arguments = [
        "compare",
        str(untitled),
        "--methods",
        "content,random",
        "--text",
        "hashed",
        "--out",
        str(tmp_path / "r"),
    ]
    assert run([*arguments, "--json"]) == 0
    content, random = json.loads(capsys.readouterr().out)["methods"]
    assert content["auc"]["mean"] == 0.5
    assert "no article of this data set has a title" in content["remark"]
    assert random["remark"] is None
    for _ in range(2):
        assert run(arguments) == 0
        assert "content: no article of this data set has a title" in " ".join(capsys.readouterr().out.split())


def test_a_budget_that_no_method_has_is_said(world, tmp_path, capsys):
    compare = ["compare", str(world), "--out", str(tmp_path / "out"), "--text", "hashed", "--epsilon", "3"]
    assert run([*compare, "--methods", "random,content"]) == 0
    assert "none of random, content has a budget" in " ".join(capsys.readouterr().err.split())
    assert run([*compare, "--methods", "random,front_page"]) == 0
    assert "has a budget" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "whose"),
    [
        (["--skew", "2"], "--skew is for --ratings"),
        (["--items", "40"], "--items is for --ratings or --purchases"),
        (["--ratings", "--days", "2"], "--days is for news"),
        (["--purchases", "--half-stars"], "--half-stars is for --ratings"),
    ],
)
def test_an_option_of_another_world_is_refused(tmp_path, capsys, words, whose):
    assert run(["data", "synth", str(tmp_path / "made"), "--readers", "20", *words]) == 2
    assert whose in capsys.readouterr().err
    assert not (tmp_path / "made").exists()
