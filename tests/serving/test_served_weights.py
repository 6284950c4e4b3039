"""Weights that a run has learnt: a server tells them, and devices rank with them as the simulator does."""

import json
from dataclasses import replace

import numpy as np
import pytest
from served_world import small_world

from discreet.aggregation.sums import NoisySum
from discreet.aggregation.task import DAY
from discreet.cli import run
from discreet.data.shown_articles import ShownArticles
from discreet.edge.reader.device_catalogue import Article
from discreet.edge.reader.local_ranking import rank, shown_features
from discreet.edge.reader.personal_scores import ReadArticle
from discreet.edge.reader.publisher_terms import PublisherTerms
from discreet.errors import DiscreetError
from discreet.methods.front_page.day_price import DayPrice
from discreet.methods.front_page.front_page import FrontPage
from discreet.methods.front_page.learnt_weights import weights_task
from discreet.methods.front_page.weight_posterior import WITH_POPULARITY
from discreet.methods.run import Run
from discreet.privacy.filter import Spent
from discreet.protocol.check import read
from discreet.protocol.weight_cells import FEATURES, LATTICE, weight_cells
from discreet.serving.api_messages import NewArticle
from discreet.serving.front_page_head import FrontPageHead
from discreet.serving.learning.learnt_state import packed
from discreet.serving.learning.model_versions import NewVersion
from discreet.serving.learning.public_terms import PublicTerms, public_terms
from discreet.serving.learning.retrain import taught_by
from discreet.serving.learning.window_learner import WindowLearner
from discreet.serving.learning.window_store import Learnt, WindowStore
from discreet.serving.public_tasks import window_file
from discreet.serving.server import open_service
from discreet.serving.status import status_lines

LEARNT = WITH_POPULARITY * [1.5, 0.5, 2.0, -3.0, 1.2, 0.8]
HOUR, START = 3600, 20_000 * DAY


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
    age = (
        -(-int(service.updater._clock()) // 300) * 300 - np.where(s.published >= 0, s.published, s.first_shown)
    ) / HOUR
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


class Released:
    """Sums that speak against the first weights, and that a candidate gains by; asked again, they are the same."""

    def __init__(self):
        self.asked = []

    def collect(self, task, window):
        self.asked.append(window)
        values = task.nothing()
        values[2], values[-1] = 900 * LATTICE, 800 * (window > 0) * LATTICE
        values[6:-1] = 300 * LATTICE
        return NoisySum(values, task.guarantee(), 1000)


def a_server(folder, clock, directions):
    """A server, of several perhaps, over one database, that learns weights, and perhaps a head."""
    addresses = {"leader": "https://n.example", "helper": "https://h.example"}
    task = weights_task(0.1, directions=directions, start=START, windows=3, **addresses)
    data = ShownArticles.of(small_world())
    service = open_service(
        None, None, database=folder / "s.sqlite", data=data, text="hashed", tasks=[task], clock=clock
    )
    service.updater.step()
    released = Released()
    return service, WindowLearner(service, [task], released, folder / "cells"), task, released


@pytest.mark.parametrize("directions", [0, 48])
def test_each_sum_is_used_once_and_a_rollback_rolls_weights_back(tmp_path, directions):
    now = [float(START)]
    service, learner, task, released = a_server(tmp_path, lambda: now[0], directions)
    other, second, *_ = a_server(tmp_path, lambda: now[0], directions)
    prior = service.model.weight_prior(with_head=directions > 0)
    store, version = WindowStore(service.store), service.model.version
    slates = {"slate_days": np.arange(START // DAY, START // DAY + 3), "slates": np.full(3, 1e4)}
    store.renew(Learnt(0, b""), packed(slates), NewVersion(version, START, 1, "many slates were shown"))
    for window in range(2):
        now[0] = task.begins(window + 1) + 1.0
        for _ in range(2):
            learner.close_windows()
            second.close_windows()
        cells = json.loads(window_file(tmp_path / "cells", task, window).read_bytes())["cells"]
        assert (cells == weight_cells(prior.told(prior.first))) == (window == 0)
        learner.learn()
        assert len(released.asked) == window, "contributions still come in"
        now[0] = float(task.sent_until(window))
        for one in (learner, second, learner):
            one.learn()
        assert store.learnt(version).sums == window + 2
    assert released.asked == [0, 1]
    for one in (service, other):
        one.updater.refresh()
        one.updater.step()
        ranking = one.updater.model
        assert ranking.weights[2] > 1.5 * WITH_POPULARITY[2]
        told = read("model", one.about().plain())
        assert told["weights"]["category"] == ranking.weights[2]
        assert len(told["vectors"].get("head", ())) == directions == np.count_nonzero(ranking.head_weights > 0)
        assert ranking.version == version
    told = " ".join(status_lines(service.status({})))
    assert "Weights, 2 sums: learnt weights rank" in told
    assert ("Head of 48 directions: a learnt one ranks" in told) == (directions > 0)
    first = service.versions.listing()[-1].version
    service.versions.rollback(first)
    service.updater.refresh()
    service.updater.step()
    assert service.updater.model.weights == tuple(WITH_POPULARITY)
    assert not service.updater.model.head_weights.any()
    assert service.status({})["weights"] is None, "before any sum of them"
    for one in (service, other):
        one.close()


def test_a_head_begins_at_zero_in_directions_that_a_database_keeps(tmp_path):
    service, *_ = a_server(tmp_path, lambda: START, 48)
    assert service.updater.model.weight_prior(with_head=True).directions == 48
    new = NewArticle(id="new", title="Something that nobody wrote of before", category="other")
    service.put([new])
    service.updater.step()
    assert "new" in service.snapshot.ids
    service.close()
    again, *_ = a_server(tmp_path, lambda: START, 48)
    assert again.model.version == service.model.version
    again.close()
    few = np.ones((20, 5), np.float32)
    with pytest.raises(DiscreetError, match="at least 100 articles, and the catalogue has 20"):
        FrontPageHead.of_articles(few, [("", "")] * 20, few[0])
    assert taught_by(str(tmp_path / "s.sqlite")) == []


def test_shares_leave_something_to_popularity():
    terms = PublicTerms(epsilon=1.0, quality=0.1, weights_share=0.2)
    assert terms.popularity_epsilon + terms.quality_epsilon + terms.weights_epsilon <= 1.0
    assert terms.popularity_epsilon == pytest.approx(0.7)
    with pytest.raises(DiscreetError, match="leave some"):
        PublicTerms(quality=0.5, weights_share=0.5)
    both = PublicTerms(epsilon=1.0, quality=0.1, head_share=0.2)
    assert (both.weights_epsilon, both.popularity_epsilon) == pytest.approx((0.2, 0.7))
    with pytest.raises(DiscreetError, match="leave --weights-share out"):
        PublicTerms(head_share=0.1, weights_share=0.1)


def test_a_run_with_a_budget_for_life_is_served_with_its_noise():
    """Quality and weights have discrete Laplace noise; popularity has the rest of the life's ρ."""
    method = FrontPage(epsilon=1.0, max_days=30)
    terms = PublicTerms(epsilon=method.daily_epsilon, quality=0.1, weights_share=0.2, life=method.life)
    price = terms.popularity_price
    assert price.delta == 1e-6
    a_day = [(price.epsilon, price.delta), (terms.quality_epsilon, 0.0), (terms.weights_epsilon, 0.0)]
    assert 0.99 < Spent.of(a_day * 30).at(1e-6) <= 1
    few = FrontPage(epsilon=1.0, max_days=3)
    terms = PublicTerms(epsilon=few.daily_epsilon, life=few.life)
    assert terms.popularity_price == DayPrice(terms.popularity_epsilon)
    assert FrontPage().life is None


def test_the_terms_of_weights_are_written(tmp_path, capsys):
    flags = ["--leader", "https://n.example/dap", "--helper", "https://h.example", "--epsilon", "0.1"]
    assert run(["aggregate", "terms", "weights", *flags, "--out", str(tmp_path / "w.json")]) == 0
    written = json.loads((tmp_path / "w.json").read_text())
    assert (written["kind"], written["measure"], written["epsilon"]) == ("signedvec", "weights of features", 0.1)
    assert "ε = 0.1" in capsys.readouterr().out
    assert run(["aggregate", "terms", "head", *flags, "--out", str(tmp_path / "h.json")]) == 0
    written = json.loads((tmp_path / "h.json").read_text())
    assert (written["name"], written["length"], written["epsilon"]) == ("weights and head", 55, 0.1)
