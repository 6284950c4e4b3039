"""`discreet vendors compare --feedback implicit`: what it prints, and what odd data do to it."""

import json

import pytest

from discreet.cli import run
from discreet.data.synthetic import purchases_world, write_purchases

METRICS = {"recall@20", "ndcg@20", "mrr", "coverage@20", "lift@20"}


def compared(path, out, capsys, *options):
    code = run(["vendors", "compare", str(path), "--feedback", "implicit", "--out", str(out), "--json", *options])
    told = capsys.readouterr()
    assert code == 0, told.err
    return json.loads(told.out), told.err


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("implicit") / "shop"
    write_purchases(purchases_world(120, 50, seed=1), folder)
    return folder


def test_the_json_has_the_shape_of_the_contract(shop, tmp_path, capsys):
    options = ("--vendors", "3", "--methods", "full,popularity,ease", "--partitions", "2")
    found, _ = compared(shop, tmp_path / "out", capsys, *options)
    assert (found["ratings"], found["feedback"], found["vendors"]) == ("shop", "implicit", 3)
    assert [method["method"] for method in found["methods"]] == ["local", "full", "popularity", "ease"]
    for method in found["methods"]:
        assert set(method) >= {*METRICS, "gain", "gap_closed", "vendors_gaining", "guarantee", "epsilon"}
        assert all(set(method[name]) == {"mean", "se"} for name in METRICS)
    again, _ = compared(shop, tmp_path / "out", capsys, *options)
    assert [method["reused"] for method in again["methods"]] == [6, 6, 6, 6]
    other, _ = compared(shop, tmp_path / "out", capsys, *options, "--top", "5")
    assert "recall@5" in other["methods"][0]
    assert other["methods"][0]["reused"] == 0
    for name in ("report.html", "comparison.md"):
        assert "nDCG" in (tmp_path / "out" / name).read_text()


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("user,item\n" + "".join(f"u{u},i{u % 7}\n" for u in range(12)), "no vendor has a user with two items"),
        ("user,item\na,x\n", "too few|cannot be split"),
    ],
)
def test_what_cannot_be_compared_is_one_line(tmp_path, capsys, lines, words):
    path = tmp_path / "odd.csv"
    path.write_text(lines)
    code = run(
        ["vendors", "compare", str(path), "--feedback", "implicit", "--vendors", "3", "--out", str(tmp_path / "o")]
    )
    told = capsys.readouterr().err
    assert code == 2
    assert any(word in told for word in words.split("|"))


def test_a_wide_catalogue_with_few_users_and_a_vendor_that_cannot_be_tested(tmp_path, capsys):
    lines = [f"u{user},item {17 * user + place},{place}" for user in range(6) for place in range(8)]
    lines += [f"single{user},i{user}," for user in range(2)]
    path = tmp_path / "wide.csv"
    path.write_text("user,item,time\n" + "\n".join(line if not line.endswith(",") else line + "9" for line in lines))
    found, told = compared(path, tmp_path / "o", capsys, "--vendors", "8", "--methods", "full,ials")
    assert "left out: 2 vendors" in told
    assert found["tested"] == 12
    assert found["methods"][0]["ndcg@20"]["mean"] >= 0


def test_other_distributions_are_refused(shop, tmp_path, capsys):
    arguments = ["vendors", "compare", str(shop), "--feedback", "implicit", "--distribution", "vertical"]
    assert run([*arguments, "--methods", "full", "--out", str(tmp_path)]) == 2
    assert "horizontal" in capsys.readouterr().err
