"""The catalogue and the scale that vendors agree on: given by hand, and the same whatever users rated."""

import json

import numpy as np
import pytest
from sharing_consortium import catalogue_options, write_csv
from small_ratings import random_ratings

from discreet.cli import run
from discreet.data.synthetic import purchases_world, write_purchases
from discreet.errors import InputError
from discreet.progress import shown
from discreet.vendors.sharing.releases import load_complete
from discreet.vendors.vendor_catalogue import Catalogue, listed_items, placed

ITEMS = [f"i{number}" for number in range(9)]
FAST = ["--rank", "1", "--iterations", "4"]
UNUSUAL = [
    ["zoe,rare,5"],
    ["zoe,i0,77", "zoe,i1,-3"],
    ["zoe,rare,77", "bob,rarer,1"],
]


@pytest.fixture
def files(tmp_path):
    paths = [write_csv(random_ratings(seed, users=30), tmp_path / f"{seed}.csv") for seed in range(2)]
    return paths, [word for path in paths for word in ("--vendor", str(path))]


def shared(words, out, capsys):
    """What all vendors see of a sharing: whether it succeeded, its job, how long its answers are; and what is said."""
    places = ["--nodes-folder", str(out.with_name(f"{out.name}-nodes")), "--out", str(out)]
    code = run(["vendors", "share", *words, "--epsilon", "5", *places])
    lengths = [len(answer.total) for answer in load_complete(out).answers()]
    return code, load_complete(out).job.to_bytes(), lengths, capsys.readouterr().out.replace(out.name, "")


@pytest.mark.parametrize("unusual", UNUSUAL, ids=["an item", "values", "both"])
def test_what_one_user_rated_changes_nothing_that_all_vendors_see(unusual, files, tmp_path, capsys):
    paths, vendors = files
    words = [*vendors, *catalogue_options(tmp_path / "items.txt", ITEMS)]
    before = shared(words, tmp_path / "run-a", capsys)
    paths[0].write_text("\n".join([paths[0].read_text(), *unusual]))
    after = shared(words, tmp_path / "run-b", capsys)
    assert before == after
    assert b"rare" not in (tmp_path / "run-b").read_bytes()


def test_a_vendor_with_nothing_of_the_catalogue_is_not_told_of(files, tmp_path, capsys):
    paths, vendors = files
    paths[0].write_text("user,item,rating\nzoe,rare,5\nbob,rarer,1\n")
    code, *_ = shared([*vendors, *catalogue_options(tmp_path / "items.txt", ITEMS)], tmp_path / "out", capsys)
    assert code == 0


def test_one_purchase_changes_nothing_that_all_vendors_see(tmp_path, capsys):
    for number in range(2):
        write_purchases(purchases_world(30, 12, seed=number), tmp_path / f"shop-{number}")
    words = [word for number in range(2) for word in ("--vendor", str(tmp_path / f"shop-{number}"))]
    words += ["--catalogue", catalogue_options(tmp_path / "items.txt", purchases_world(30, 12).items.ids)[1]]
    before = shared(words, tmp_path / "run-a", capsys)
    (table,) = (path for path in (tmp_path / "shop-0").iterdir() if "count" in path.read_text().partition("\n")[0])
    columns, first, *_ = table.read_text().splitlines()
    bought = dict(zip(columns.split(","), first.split(","), strict=True)) | {"item": "rare", "count": "9"}
    table.write_text(table.read_text().rstrip("\n") + "\n" + ",".join(bought.values()) + "\n")
    assert before == shared(words, tmp_path / "run-b", capsys)


@pytest.mark.parametrize("command", ["share", "compare"])
@pytest.mark.parametrize(("missing", "named"), [(0, "--catalogue"), (2, "--scale")])
def test_own_files_need_what_the_vendors_agreed_on(command, missing, named, files, tmp_path, capsys):
    listed = catalogue_options(tmp_path / "items.txt", ITEMS)
    del listed[missing : missing + 2]
    there = set(tmp_path.iterdir())
    words = ["vendors", command, *files[1], *listed, "--epsilon", "5", "--out", str(tmp_path / "out")]
    assert run([*words, *(["--nodes-folder", str(tmp_path / "nodes")] if command == "share" else [])]) == 2
    said = capsys.readouterr().err
    assert named in said
    assert said.count("\n") == 1
    assert set(tmp_path.iterdir()) == there


def test_purchases_need_a_catalogue(tmp_path, capsys):
    for number in range(2):
        write_purchases(purchases_world(30, 12, seed=number), tmp_path / f"shop-{number}")
    words = [word for number in range(2) for word in ("--vendor", str(tmp_path / f"shop-{number}"))]
    for command in (["share"], ["compare", "--feedback", "implicit"]):
        assert run(["vendors", *command, *words, "--epsilon", "5", "--out", str(tmp_path / "out")]) == 2
        assert "--catalogue" in capsys.readouterr().err


def test_a_comparison_is_of_the_catalogue_alone(files, tmp_path, capsys):
    """Items that are not listed count for nothing, with own files and with one file that is dealt out."""
    paths, vendors = files
    listed = catalogue_options(tmp_path / "items.txt", [*ITEMS, "nobody rated this"])
    for name, given in (("own", vendors), ("dealt", [str(paths[0]), "--vendors", "2"])):
        words = ["vendors", "compare", *given, *listed, "--methods", "dp_averages", "--epsilon", "5", *FAST, "--json"]
        text = paths[0].read_text()
        told = []
        for part in ("before", "after"):
            assert run([*words, "--out", str(tmp_path / f"{name}-{part}")]) == 0
            told.append(json.loads(capsys.readouterr().out))
            paths[0].write_text(text + "\nu0,rare,5\nu1,rare,1")
        paths[0].write_text(text)
        assert told[0] == told[1]


def test_what_does_not_fit_is_said_on_the_vendors_own_machine(capsys):
    ratings = random_ratings(1)
    with shown():
        kept = placed(ratings, Catalogue(["i3", "unknown", "i1"], (2.0, 4.0)))
    said = " ".join(capsys.readouterr().err.split())
    outside = int(np.sum(~np.isin(ratings.item, [1, 3])))
    assert f"{outside} ratings are of no item of the catalogue" in said
    assert "are moved to its ends" in said
    assert [kept.items.ids[item] for item in kept.item] == [f"i{n}" for n in ratings.item if n in (1, 3)]
    assert (kept.value.min(), kept.value.max(), kept.scale) == (2.0, 4.0, (2.0, 4.0))


@pytest.mark.parametrize(("text", "problem"), [("", "lists no item"), ("a\nb\n a\n", "second time"), (b"\xff", "read")])
def test_a_list_that_is_none_is_refused(text, problem, tmp_path):
    path = tmp_path / "items.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=problem):
        listed_items(path)
    path.write_text("a\n\n b \n", encoding="utf-8-sig")
    assert listed_items(path) == ("a", "b")
