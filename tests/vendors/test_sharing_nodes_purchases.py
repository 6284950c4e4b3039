"""Purchases shared over nodes: the simulator's totals, one vendor's model file, and next month's sharing."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sharing_consortium import Consortium, catalogue_options

from discreet.cli import run
from discreet.data.open import open_purchases
from discreet.data.purchases import Purchases
from discreet.data.synthetic import purchases_world, ratings_world, write_purchases, write_ratings
from discreet.edge.vendor.own_ratings import on_catalogue
from discreet.edge.vendor.sharing_node import job_opener
from discreet.errors import DiscreetError, InputError
from discreet.nodes.configuration import NodeSettings
from discreet.vendors.implicit.ease import EASE
from discreet.vendors.implicit.ials import IALS
from discreet.vendors.implicit.item_ranker import ItemRanker
from discreet.vendors.implicit.popularity import PopularItems
from discreet.vendors.implicit.sharing import RankingSharing
from discreet.vendors.partition import partition
from discreet.vendors.sharing.coordinator import share_over_nodes
from discreet.vendors.sharing.job import ShareJob


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("purchases") / "shop"
    write_purchases(purchases_world(150, 40, seed=3), folder)
    return folder


def job_for(path, vendors=3, epsilon=5.0, seed=7):
    items = tuple(open_purchases(path).items.ids)
    return ShareJob(
        "shop", epsilon, 1e-5, 1, tuple(range(1, vendors + 1)), items, (0.0, 1.0), seed, feedback="implicit"
    )


def test_nodes_release_what_the_simulator_does_bit_for_bit(shop, tmp_path):
    job = job_for(shop)
    released = share_over_nodes(Consortium(shop, tmp_path / "nodes", 3).sums(job), job, tmp_path / "out")
    simulated = RankingSharing(5.0).share(partition(open_purchases(shop), 3), seed=7)
    assert [type(one.round).__name__ for one in released.answers()] == ["Sales", "SalesPairs", "SalesProjections"]
    for one, other in zip(released.answers(), simulated.answers, strict=True):
        assert np.array_equal(one.total, other.total)


def test_from_files_to_recommendations_and_to_next_month(tmp_path, capsys):
    for number in range(3):
        write_purchases(purchases_world(60, 30, seed=number), tmp_path / f"shop-{number}")
    given = [word for number in range(3) for word in ("--vendor", str(tmp_path / f"shop-{number}"))]
    given += catalogue_options(tmp_path / "items.txt", purchases_world(60, 30).items.ids)[:2]
    places = ["--nodes-folder", str(tmp_path / "nodes"), "--max-epsilon", "8"]
    first = ["vendors", "share", *given, "--epsilon", "5", "--out", str(tmp_path / "first"), *places, "--json"]
    assert run(first) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["kind"] for one in told["rounds"]] == ["sales", "salespairs", "salesprojections"]
    assert told["guarantee"]["unit"] == "user"
    read = ["vendors", "read", str(tmp_path / "first"), str(tmp_path / "nodes" / "node-2")]
    assert run([*read, "--out", str(tmp_path / "model"), "--top", "4"]) == 0
    said = capsys.readouterr().out
    assert "nDCG@20 over" in said
    assert "5 spent of 8; 3 left" in said
    written = pl.read_csv(tmp_path / "model" / "predictions.csv")
    model = ItemRanker.load(tmp_path / "model" / "model.safetensors")
    assert written["user"].n_unique() == 60
    assert [name for name, _ in model.recommend(written["user"][0], 4)] == written["item"].to_list()[:4]
    assert run([*read, "--rank", "3"]) == 2
    assert "of the model of ratings" in capsys.readouterr().err
    month = ["vendors", "share", *given, "--name", "next month", *places, "--out", str(tmp_path / "second")]
    assert run([*month, "--epsilon", "5"]) == 2
    assert "more than the ε = 8" in capsys.readouterr().err
    assert run([*month, "--epsilon", "3"]) == 0


def test_own_files_of_purchases_are_compared(tmp_path, capsys):
    for number in range(2):
        write_purchases(purchases_world(30, 20, seed=number), tmp_path / f"shop-{number}")
    files = [word for number in range(2) for word in ("--vendor", str(tmp_path / f"shop-{number}"))]
    files += catalogue_options(tmp_path / "items.txt", purchases_world(30, 20).items.ids)[:2]
    methods = ["--feedback", "implicit", "--methods", "popularity", "--epsilon", "5", "--json"]
    assert run(["vendors", "compare", *files, *methods, "--out", str(tmp_path / "report")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["vendors"] == 2
    assert told["settings"]["dealing"] == "own files"


def test_a_vendor_of_ratings_shares_what_its_users_like(tmp_path):
    rated = ratings_world(40, 20, 300, seed=1)
    write_ratings(rated, tmp_path / "films")
    job = ShareJob("likes", 5.0, 1e-5, 1, (1, 2, 3), tuple(rated.items.ids), (0.0, 1.0), 1, "implicit", 4.0)
    assert job_opener(NodeSettings(tmp_path / "node", 1, tmp_path / "films", None, 9.0, "simulated"))(job.to_bytes())
    liked = on_catalogue(rated, job)
    assert isinstance(liked, Purchases)
    assert len(liked) == (rated.value >= 4).sum()
    assert len(on_catalogue(rated, replace(job, threshold=77.0))) == 0, "nobody is told that there are none"


def test_purchases_are_no_ratings(shop, tmp_path):
    opened = job_opener(NodeSettings(tmp_path / "node", 1, shop, None, 9.0, "simulated"))
    with pytest.raises(DiscreetError, match="hosts purchases, and the job is about ratings"):
        opened(replace(job_for(shop), feedback="explicit").to_bytes())


@pytest.mark.parametrize("model", [EASE(20.0), IALS(rank=3, iterations=2), PopularItems()])
@pytest.mark.parametrize("users", [15, 60])
def test_a_model_comes_back_from_its_file(model, users, tmp_path):
    bought = purchases_world(users, 30, seed=2)
    fitted = model.fit(bought)
    fitted.save(tmp_path / "model")
    found = ItemRanker.load(tmp_path / "model")
    assert type(found) is type(fitted)
    assert found.scores(np.arange(users)) == pytest.approx(fitted.scores(np.arange(users)))
    assert (found.bought != fitted.bought).nnz == 0


def test_files_that_are_no_models(tmp_path):
    (tmp_path / "text").write_text("no model")
    for name in ("missing", "text"):
        with pytest.raises(InputError, match=name):
            ItemRanker.load(tmp_path / name)
