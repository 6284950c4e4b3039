"""Weights that a run has learnt: a server tells them, and devices rank with them as the simulator does."""

import json
from dataclasses import replace

import numpy as np
import pytest
from served_world import small_world

from discreet.cli import run
from discreet.data.shown_articles import ShownArticles
from discreet.edge.reader.device_catalogue import Article
from discreet.edge.reader.local_ranking import rank, shown_features
from discreet.edge.reader.personal_scores import ReadArticle
from discreet.edge.reader.publisher_terms import PublisherTerms
from discreet.errors import DiscreetError
from discreet.methods.front_page.front_page import FrontPage
from discreet.methods.front_page.learnt_weights import WITH_POPULARITY
from discreet.methods.run import Run
from discreet.protocol.check import read
from discreet.protocol.weight_cells import FEATURES
from discreet.serving.learning.public_terms import PublicTerms, public_terms
from discreet.serving.server import open_service

LEARNT = WITH_POPULARITY * [1.5, 0.5, 2.0, -3.0, 1.2, 0.8]
HOUR = 3600


@pytest.fixture(scope="module")
def learnt_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "learnt"
    method = FrontPage(epsilon=0.5, weights_share=0.2, popularity_weight=0.5)
    fitted = method.fit(small_world(), text="hashed")
    replace(fitted, state={**fitted.state, "weights": LEARNT}).save(folder)
    return folder


@pytest.fixture(scope="module")
def service(learnt_run, tmp_path_factory):
    terms, world = public_terms(learnt_run), small_world()
    given = {"weights": terms.weights, "training": terms.training, "popularity_weight": terms.popularity_weight}
    now = int(world.splits["dev"].time.max())
    made = open_service(
        None,
        None,
        database=tmp_path_factory.mktemp("served") / "s.sqlite",
        data=ShownArticles.of(world),
        text=terms.text,
        clock=lambda: now,
        **given,
    )
    made.updater.step()
    yield made
    made.close()


def test_a_run_says_its_weights_and_what_they_cost(learnt_run):
    terms = public_terms(learnt_run)
    assert terms.weights == tuple(LEARNT)
    assert terms.training == Run.load(learnt_run).guarantee
    assert (terms.epsilon, terms.training.epsilon) == (0.5, 0.5)


def test_devices_are_told_the_weights_and_what_they_cost(service):
    told = read("model", service.about().plain())
    found = [told["weights"][name] for name in FEATURES]
    assert found == pytest.approx([*LEARNT[:-1], 0.5 * LEARNT[-1]])
    assert any("weights from a clipped gradient a day" in line for line in json.loads(service.about().plain())["words"])
    public = replace(service.model, weights=tuple(WITH_POPULARITY.tolist()), training=None)
    assert public.version != service.model.version


def test_a_device_scores_by_the_features_that_it_keeps_and_by_these_weights(service):
    terms = PublisherTerms.from_json(read("model", service.about().plain()))
    s, rng = service.snapshot, np.random.default_rng(0)
    rate = rng.normal(0, 0.5, len(s))
    popularity = terms.weights.popularity * rate
    vectors = rng.integers(-90, 90, (len(s), terms.dimension)).astype(np.int8)
    age = (service.updater._clock() - np.where(s.published >= 0, s.published, s.first_shown)) / HOUR
    names = list(s.categories)
    articles = [
        Article(s.ids[row], "", names[s.category[row]], 0, vectors[row].tobytes(), base, popularity[row])
        for row, base in enumerate((s.base + popularity).tolist())
    ]
    history = [ReadArticle(one.vector, one.category) for one in articles[:5]]
    features = shown_features(articles, history, terms)
    assert features[:, 3] == pytest.approx(-np.log1p(age), abs=1e-5)
    assert features[:, 5] == pytest.approx(rate)
    weights = LEARNT * [1, 1, 1, 1, 1, 0.5]
    scores = dict(zip(s.ids, (features @ weights).tolist(), strict=True))
    ranked = rank(articles, [one.base for one in articles], history, (), terms)
    assert [one.score for one in ranked] == pytest.approx([scores[one.article.id] for one in ranked])
    assert features[:, :3].any(axis=0).all()


def test_shares_leave_something_to_popularity():
    terms = PublicTerms(epsilon=1.0, quality=0.1, weights_share=0.2)
    assert terms.popularity_epsilon + terms.quality_epsilon + terms.weights_epsilon <= 1.0
    assert terms.popularity_epsilon == pytest.approx(0.7)
    with pytest.raises(DiscreetError, match="leave some"):
        PublicTerms(quality=0.5, weights_share=0.5)


def test_the_terms_of_weights_are_written(tmp_path, capsys):
    flags = ["--leader", "https://n.example/dap", "--helper", "https://h.example", "--epsilon", "0.1"]
    assert run(["aggregate", "terms", "weights", *flags, "--out", str(tmp_path / "w.json")]) == 0
    written = json.loads((tmp_path / "w.json").read_text())
    assert (written["kind"], written["measure"], written["epsilon"]) == ("signedvec", "weights of features", 0.1)
    assert "ε = 0.1" in capsys.readouterr().out
