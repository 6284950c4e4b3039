"""The server of a training over nodes reads a public catalogue, and clicks only where its operator names them."""

import dataclasses

import numpy as np
import pytest

from discreet.cli import run
from discreet.data import open as opening
from discreet.data.open import open_news
from discreet.data.public_catalogue import COLUMNS, PublicCatalogue
from discreet.data.synthetic import news_world, write_mind
from discreet.errors import InputError
from discreet.methods.dp_fedavg import DPFedAvg
from discreet.methods.published.fedrec import FedRec
from discreet.methods.server_program import server_task
from discreet.methods.training_job import Description, catalogue_digest


@pytest.fixture
def catalogue(world, tmp_path):
    path = tmp_path / "catalogue.csv"
    assert run(["data", "catalogue", str(world), str(path)]) == 0
    return path


def test_a_catalogue_comes_back_and_does_not_depend_on_clicks(world, catalogue, tmp_path):
    news, read = open_news(world), PublicCatalogue.read(catalogue)
    assert catalogue_digest(read.articles) == catalogue_digest(news.articles)
    train = news.splits["train"]
    assert read.times_shown.tolist() == np.bincount(train.shown, minlength=len(news.articles)).tolist()
    others = dataclasses.replace(
        train, clicked=~train.clicked, timeline=np.zeros_like(train.timeline), reader=train.reader[::-1].copy()
    )
    PublicCatalogue.of(dataclasses.replace(news, splits={"train": others})).write(tmp_path / "other.csv")
    assert (tmp_path / "other.csv").read_bytes() == catalogue.read_bytes()


@pytest.mark.parametrize("method", [FedRec(), DPFedAvg()], ids=lambda method: method.name)
def test_the_server_opens_no_data_set_and_nodes_make_the_same_vectors(world, catalogue, method, monkeypatch):
    news = open_news(world)
    monkeypatch.setattr(opening, "open_news", None)
    task = server_task(catalogue, text="hashed")
    assert not task.data.splits["train"].clicked.any()
    assert set(task.data.splits) == {"train"}
    setup = method.setup(task, 3)
    assert len(setup.clients) == 0
    told = Description.from_bytes(Description.of(method, task, setup).to_bytes())
    node = told.task(news)
    assert np.array_equal(node.text_vectors.matrix, task.text_vectors.matrix)
    assert np.array_equal(node.public_vectors.matrix, task.public_vectors.matrix)


def test_the_auc_is_measured_on_what_the_operator_names(world, catalogue, tmp_path):
    task = server_task(catalogue, world, text="hashed")
    assert np.array_equal(task.data.splits["dev"].clicked, open_news(world).splits["dev"].clicked)
    assert not task.data.splits["train"].clicked.any()
    write_mind(news_world(60, seed=3), tmp_path / "other")
    with pytest.raises(InputError, match="does not have the same articles"):
        server_task(catalogue, tmp_path / "other", text="hashed")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "its first line must be id,title"),
        ("user,item,rating\n1,2,3\n", "its first line must be id,title"),
        (",".join(COLUMNS) + "\nN1,a,b\n", "catalogue.csv:2: has 3 fields, 7 expected"),
        (",".join(COLUMNS) + "\n,a,b,c,d,,1\n", "catalogue.csv:2: the article has no id"),
        (",".join(COLUMNS) + "\nN1,a,b,c,d,,-1\n", "'shown' is how often the article was shown, not '-1'"),
        (",".join(COLUMNS) + "\nN1,a,b,c,d,[1],1\n", "'entities' are pairs of an entity"),
        (",".join(COLUMNS) + "\nN1,a,b,c,d,,1\nN1,a,b,c,d,,1\n", "has an article twice"),
    ],
)
def test_what_is_no_catalogue_is_refused(tmp_path, text, problem):
    path = tmp_path / "catalogue.csv"
    path.write_text(text)
    with pytest.raises(InputError) as refusal:
        PublicCatalogue.read(path)
    assert problem in str(refusal.value)


def test_a_data_set_in_place_of_a_catalogue_is_refused_by_name(world, tmp_path, capsys):
    command = ["train", str(world), "--method", "dp_fedavg", "--engine", "flower", "--out", str(tmp_path / "run")]
    assert run([*command, "--superlink", str(tmp_path)]) == 2
    assert "the server takes a public catalogue, not a data set" in capsys.readouterr().err
    assert run([*command, "--validate", str(world)]) == 2
    assert "--validate goes with --superlink" in capsys.readouterr().err
