"""A run of `dp_fedavg` is served: the device's scores are those of the trained head, up to how vectors are rounded."""

import base64
import json

import numpy as np
import pytest
from served_world import small_world

from discreet.data.shown_articles import ShownArticles
from discreet.edge.reader.personal_scores import ReadArticle, matrix, personal_scores
from discreet.edge.reader.publisher_terms import PublisherTerms
from discreet.errors import DiscreetError
from discreet.methods.baselines import Popularity
from discreet.methods.dp_fedavg import DPFedAvg
from discreet.methods.published.privaterec import PrivateRec
from discreet.protocol.check import check
from discreet.serving.model import load_served
from discreet.serving.server import open_service


@pytest.fixture(scope="module")
def head_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "head"
    run = DPFedAvg(epsilon=3.0, rounds=3, fraction=0.5).fit(small_world(), text="hashed")
    run.save(folder)
    return run, folder


def test_a_device_ranks_as_the_trained_head_does(head_run, tmp_path):
    run, folder = head_run
    data = small_world()
    service = open_service(folder, load_served(folder), database=tmp_path / "s.sqlite", data=ShownArticles.of(data))
    service.updater.step()
    model = check("model", json.loads(service.about().plain()))
    assert (model["epsilon"]["lifetime"], model["ranking"]) == (0, "local")
    assert any("was trained on readers' devices" in line and "per user" in line for line in model["words"])
    terms = PublisherTerms.from_json(model)
    assert terms.negative > 0
    snapshot = service.updater.snapshot
    known = {name: json.loads(b"{%s}" % entry) for name, entry in zip(snapshot.ids, snapshot.entries, strict=True)}
    vectors = {name: base64.b64decode(entry["vector"]) for name, entry in known.items()}
    base = dict(zip(snapshot.ids, snapshot.base.tolist(), strict=True))
    dev, ids = data.splits["dev"], data.articles.ids
    expected, found, exact = run.score(dev), [], []
    head, articles = service.model, data.articles
    longest = run.method.chosen_model.history_length  # training takes so many clicks; a device takes all
    topics = list(zip(articles.categories, articles.subcategories, strict=True))
    whole = head.title_vectors(articles.titles, topics)
    sign = np.where(np.arange(terms.dimension) < terms.dimension - terms.negative, 1.0, -1.0)
    places, liked = head.coordinates(whole).astype(float), head.fixed_scores(whole, articles.categories)
    for i in range(40):
        history = [ReadArticle(vectors[ids[row]], "") for row in dev.history(i)[-longest:].tolist()]
        shown = [ids[row] for row in dev.shown[dev.slate[i] : dev.slate[i + 1]].tolist()]
        own = personal_scores(
            matrix([vectors[name] for name in shown], terms.dimension), [("", "")] * len(shown), history, terms
        )
        found.append(own + [base[name] for name in shown])
        rows, read = dev.shown[dev.slate[i] : dev.slate[i + 1]], dev.history(i)[-longest:]
        interest = sign * places[read].mean(axis=0) if len(read) else np.zeros(terms.dimension)
        exact.append(places[rows] @ interest + liked[rows])
    expected, found = expected[: dev.slate[40]], np.concatenate(found)
    scale = np.abs(expected).max()
    assert np.abs(expected - np.concatenate(exact)).max() < 1e-4 * scale  # the form is the head's own
    assert np.abs(expected - found).max() < 0.05 * scale  # coordinates are sent in bytes
    assert np.corrcoef(expected, found)[0, 1] > 0.999
    service.close()


def test_a_run_of_privaterec_is_refused_even_with_a_head(tmp_path):
    PrivateRec(rounds=1, fraction=0.1, model="bilinear").fit(small_world(), text="hashed").save(tmp_path / "run")
    with pytest.raises(DiscreetError, match="a run of privaterec is not served: no finite ε holds"):
        load_served(tmp_path / "run")


def test_a_run_without_a_head_is_refused_with_what_can_be_served(tmp_path):
    Popularity().fit(small_world(), text="hashed").save(tmp_path / "run")
    with pytest.raises(
        Exception, match="cannot be served; train click_reports, front_page, or a method with --set model=bilinear"
    ):
        load_served(tmp_path / "run")
