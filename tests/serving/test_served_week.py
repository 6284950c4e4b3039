"""What goes through devices, aggregators and server is what the simulator of `front_page` makes of the same clicks."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from dap_site import Clock, Site
from served_world import small_world
from sqlalchemy import select

from discreet.aggregation.sums import PlainSums
from discreet.cli import run
from discreet.data.news import NewsData
from discreet.experiments.served_week import ServedWeek, served_rates
from discreet.methods.baselines.similarity import mean_of_history
from discreet.methods.front_page.click_rates import ClickRates, known_rates
from discreet.methods.front_page.day_price import DayPrice
from discreet.methods.front_page.front_page import _watched
from discreet.methods.front_page.head_articles import HeadArticles
from discreet.methods.front_page.history_features import device_features
from discreet.methods.front_page.learnt_weights import learn_weights, weight_contributions
from discreet.methods.front_page.public_articles import PublicArticles
from discreet.methods.front_page.weight_posterior import WITH_POPULARITY
from discreet.methods.front_page.windows import DAY, Log, Window, count_likelihood, released_windows
from discreet.methods.method import TrainingTask
from discreet.privacy.noise import SimulatedNoise
from discreet.protocol.weight_cells import read_weights
from discreet.serving.database_tables import exposure, open_engine
from discreet.serving.learning.retrain import retrain
from discreet.serving.learning.sum_popularity import article_text
from discreet.serving.learning.sum_weights import learns_weights
from discreet.serving.learning.window_store import WindowStore
from discreet.serving.refusal import RequestRefusal
from discreet.serving.server_store import ServerStore
from discreet.serving.status import status_lines

SECONDS, CLICKS, EPSILON = DAY // 6, 20, 100.0
LAPLACE, GAUSSIAN = DayPrice(EPSILON), DayPrice(EPSILON, 1e-6)


class NoNoise(SimulatedNoise):
    """Adds nothing, so that sums can be compared number by number. What is due is still decided by the noise's size."""

    def __init__(self):
        super().__init__(0)

    def discrete_laplace(self, scale, size):
        return np.zeros(size, np.int64)

    def discrete_gaussian(self, sigma, size):
        return np.zeros(size, np.int64)


def some_readers(count):
    """Two days of few readers, none of whom clicks more articles a day than count."""
    whole = small_world()
    train = whole.splits["train"]
    return NewsData(whole.name, whole.articles, whole.readers[:count], {"train": train.select(train.reader < count)})


def played(folder, data, sums, **terms):
    given = {"price": LAPLACE, "max_clicks": CLICKS, "seconds": SECONDS, "text": "hashed", **terms}
    return ServedWeek(folder, data, sums, **given)


class TwoAggregators:
    """Contributions are shared, sealed, proved, and added up by a leader and a helper."""

    def __init__(self, folder, task):
        self.clock = Clock(float(task.start))
        self.site = Site(folder, task, self.clock, noise=NoNoise())

    def contribute(self, task, window, contribution):
        self.clock.now = task.begins(window + 1) + 1.0
        self.site.client.upload(window, contribution)

    def collect(self, task, window):
        self.clock.now = task.sent_until(window) + 1.0
        return self.site.collect(window)


def served_windows(week):
    """What the server learnt from, as the simulator has it."""
    place = {name: row for row, name in enumerate(week.data.articles.ids)}
    for used in WindowStore(week.service.store).used():
        if used.task.id != week.task.id:
            continue
        rows = np.array([place[name] for name in used.closed.cells])
        order = np.argsort(rows)
        values = used.found.values[: len(rows)]
        shown = sorted((place[name], exposure) for name, exposure in used.closed.shown.items())
        seen = np.array([row for row, _ in shown]), np.array([exposure for _, exposure in shown])
        yield Window(used.closed.end, rows[order], used.closed.exposure[order], values[order], shown=seen)


def simulated_windows(data, price=LAPLACE):
    """The windows of the simulator, with the clicks that their noise hides."""
    log = Log.of(list(data.splits.values()), len(data.readers), SECONDS, 0, CLICKS)
    counted = Counter()
    for window in released_windows(log, SECONDS, price, 1, 0, max_clicks=CLICKS):
        clicks = []
        for article in window.articles.tolist():
            so_far = int(((log.click_article == article) & (log.click_time < window.end)).sum())
            clicks.append(so_far - counted[article])
            counted[article] = so_far
        yield Window(window.end, window.articles, window.exposure, np.array(clicks), shown=window.shown)


def test_two_aggregators_sum_from_devices_what_the_simulator_sums(tmp_path):
    data = some_readers(8)

    def sums(task):
        (tmp_path / task.name).mkdir()
        return TwoAggregators(tmp_path / task.name, task)

    week = played(tmp_path, data, sums, room=60, weights_epsilon=EPSILON, features=features_of(data))
    list(week.windows())
    assert len(list(weights_served(week))) == 1
    served, simulated = list(served_windows(week)), list(simulated_windows(data))
    week.close()
    assert [window.end for window in served] == [window.end for window in simulated]
    assert any(window.end % DAY for window in served), "some cells are due before their day ends"
    for one, other in zip(served, simulated, strict=True):
        assert one.articles.tolist() == other.articles.tolist()
        np.testing.assert_allclose(one.exposure, other.exposure)
        assert one.released.tolist() == other.released.tolist()
    held = sum(len(window.articles) for window in served if window.end % DAY == 0)
    assert 0 < held < sum(len(window.articles) for window in served)


@pytest.mark.parametrize("price", [LAPLACE, GAUSSIAN])
def test_a_server_knows_of_popularity_what_the_simulator_knows(tmp_path, price):
    """The posterior is the same, number by number, if it starts from the same text."""
    data = some_readers(30)
    week = played(tmp_path, data, lambda _: PlainSums(NoNoise()), price=price)
    assert week.task.noise is price.noise
    found = served_rates(week, data.splits["train"])
    rates = ClickRates(count_likelihood(price, CLICKS), week_text(week))
    expected = known_rates(rates, simulated_windows(data, price), data.splits["train"], SECONDS)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert np.abs(expected).max() > 0.3

    before = week.log_rates()
    with pytest.raises(RequestRefusal, match="--exposure logged"):
        week.service.add_slates([])
    week.close()
    database = ["--database", str(tmp_path / "week.sqlite")]
    assert run(["retrain", *database, "--text", "hashed", "--json"]) == 0
    again = played(tmp_path, data, lambda _: PlainSums(NoNoise()), price=price)
    assert again.log_rates() == pytest.approx(before)
    listed = again.service.versions.listing(2)
    assert listed[0].reason.startswith("learnt again from")
    again.service.versions.rollback(listed[1].version)
    assert again.log_rates() == pytest.approx(before)
    again.close()


def tasteless(data, features, directions):
    """The same slates until the end of the last day, in some of which the old and the strange is clicked."""
    train = data.splits["train"]
    z = HeadArticles.of(TrainingTask(data, "hashed")).vectors[:, : directions // 12]
    unlike = -(mean_of_history(z, train)[train.impression_of_shown] * z[train.shown]).sum(axis=1)
    scores = features @ [-3.0, 0.0, 0.0, -3.0, 0.0] + 30 * unlike
    best = np.maximum.reduceat(scores, train.slate[:-1])[train.impression_of_shown]
    often = (np.arange(len(train)) % 3 <= directions)[train.impression_of_shown]
    time = train.time.copy()
    time[time.argmax()] = (time.max() // DAY + 1) * DAY - 1
    reader = np.arange(len(train), dtype=np.int32) % len(data.readers) if directions else train.reader
    played = replace(train, clicked=often & (scores == best), time=time, reader=reader)
    return replace(data, splits={"train": played})


def features_of(data):
    task = TrainingTask(data, "hashed")
    return device_features(task, PublicArticles.of(task), data.splits["train"])


def weights_served(week):
    """Of each day the candidate weights that devices were told, after a check that their sum is the simulator's."""
    train = week.data.splits["train"]
    used = [one for one in WindowStore(week.service.store).used() if learns_weights(one.task)]
    assert used
    for one in used:
        today = train.time // DAY == one.closed.end // DAY - 1
        shown = week.views.features[np.repeat(today, train.slate_sizes)]
        told = read_weights(one.closed.cells)
        assert told.reference[:6] == tuple(WITH_POPULARITY)
        wanted = weight_contributions(train.select(today), shown, told).sum(axis=0)
        assert wanted[:-1].all()
        assert np.abs(one.found.values - wanted).max() <= len(week.data.readers), "a step of rounding for each reader"
        yield np.array(told.candidate)


@pytest.mark.parametrize("directions", [0, 48])
def test_a_server_learns_the_weights_that_the_simulator_learns(tmp_path, directions):
    data = some_readers(60)
    features = features_of(data)
    data = tasteless(data, features, directions)
    train = data.splits["train"]
    given = {"weights_epsilon": EPSILON, "features": features, "directions": directions}
    week = played(tmp_path, data, lambda _: PlainSums(NoNoise()), **given)
    prior = week.service.model.weight_prior(with_head=directions > 0)
    assert prior.directions == directions
    list(week.windows())
    week.service.updater.step()
    first, second = weights_served(week)
    assert np.array_equal(first, prior.first)
    assert not np.array_equal(second, prior.first), "the second day is computed at a candidate"
    with_rates = week.views.features
    rates, levels = ClickRates(count_likelihood(LAPLACE, CLICKS), week_text(week)), {}
    known_rates(rates, _watched(simulated_windows(data), rates, levels), train, SECONDS)
    expected = learn_weights(train, with_rates, EPSILON, levels.__getitem__, 1, NoNoise(), prior).weights
    found = week.service.updater.model
    np.testing.assert_allclose(found.weights, expected[:6], atol=1e-9)
    np.testing.assert_allclose(found.head_weights, expected[6:], atol=1e-9)
    assert not np.array_equal(expected, prior.first), "and then ranks"
    assert found.version == week.service.model.version
    told = json.loads(week.service.about().plain())
    assert told["weights"]["recency"] == pytest.approx(expected[3], abs=1e-9)
    assert told["vectors"].get("head", []) == pytest.approx(expected[6:], abs=1e-9)
    status = week.service.status({})
    assert status["weights"]["learnt"]
    assert (status["weights"]["head"] or {}).get("learnt", False) == (directions > 0)
    assert "learnt weights rank" in " ".join(status_lines(status))
    retrain(week.service)
    week.service.updater.rates.read()
    assert week.service.updater.model.weights == found.weights
    assert np.array_equal(week.service.updater.model.head_weights, found.head_weights)
    week.close()


def week_text(week):
    """What popularity is predicted from, in the order of the log's articles."""
    snapshot = week.service.updater.snapshot
    place = {name: row for row, name in enumerate(snapshot.ids)}
    return article_text(week.service.model, snapshot)[[place[name] for name in week.data.articles.ids]]


def test_slates_are_told_by_scripts(tmp_path, capsys):
    place, slates = tmp_path / "s.sqlite", tmp_path / "slates.jsonl"
    store = ServerStore(open_engine(place))
    slates.write_text('{"articles": ["N1", "N2"], "shown": 6}\n\n{"articles": ["N2"]}\n')
    for _ in range(2):
        assert run(["articles", "shown", str(slates), "--database", str(place), "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == {"slates": 2, "shown": 7}
    with store.engine.connect() as connection:
        assert dict(connection.execute(select(exposure)).all()) == {"N1": 6.0, "N2": 8.0}
    store.close()
    slates.write_text('{"articles": ["N1"]}\n{"articles": []}\n')
    assert run(["articles", "shown", str(slates), "--database", str(place)]) == 2
    assert "slates.jsonl:2: no slate (articles: " in capsys.readouterr().err
    assert run(["retrain", "--database", str(tmp_path / "none.sqlite")]) == 2
    assert "there is no such database" in capsys.readouterr().err
