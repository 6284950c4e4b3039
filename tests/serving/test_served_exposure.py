"""Where exposure is logged, a server learns what it says of the click rate, number by number as the simulator does."""

from dataclasses import replace

import numpy as np
import pytest
from served_world import small_world

from discreet.aggregation.sums import NoisySum
from discreet.data.shown_articles import ShownArticles
from discreet.methods.front_page.click_rates import EXPOSURE_STATE, ClickRates
from discreet.methods.front_page.count_likelihood import CountLikelihood
from discreet.methods.front_page.day_price import DayPrice
from discreet.methods.front_page.exposure_slope import summed_up
from discreet.methods.front_page.windows import DAY, Window, popularity_task
from discreet.serving.database_tables import open_engine
from discreet.serving.learning.learnt_state import packed, unpacked
from discreet.serving.learning.logged_exposure import LoggedSlate, add_slates
from discreet.serving.learning.retrain import retrain
from discreet.serving.learning.sum_popularity import article_text, learnt_from, rates_on
from discreet.serving.learning.window_learner import WindowLearner
from discreet.serving.learning.window_store import ClosedWindow, UsedSum, WindowStore
from discreet.serving.server import first_articles, open_service
from discreet.serving.server_store import DELETED, ServerStore

WINDOW, SITE = DAY // 6, "http://127.0.0.1:1/dap"
LAPLACE = DayPrice(10.0)
NEW = 20
"""So many articles of the catalogue are never shown."""


class EditedSite:
    """A server, to which an editor's slates are told, and readers who click more often what is shown more."""

    def __init__(self, folder, price=LAPLACE):
        data, self.random = small_world(), np.random.default_rng(0)
        task = popularity_task(
            WINDOW, price, length=len(data.articles), start=DAY, windows=48, leader=SITE, helper=SITE
        )
        self.task, self.now, self.window = replace(task, send_seconds=60), float(DAY), 0
        self.service = open_service(
            None,
            None,
            database=folder / "site.sqlite",
            data=ShownArticles.of(data),
            text="hashed",
            tasks=[self.task],
            clock=lambda: self.now,
        )
        self.service.updater.step()
        self.store, self.ids = WindowStore(self.service.store), list(self.service.updater.snapshot.ids)
        self._cells = folder / "cells"
        self.learner = WindowLearner(self.service, [self.task], self, self._cells, logged=True)
        self.shows = dict(
            zip(self.ids, self.random.permutation(2 + 5 * np.arange(len(self.ids))).tolist(), strict=True)
        )
        self.waiting, self.told = dict.fromkeys(self.ids, 0), dict.fromkeys(self.ids, 0)
        self.resting = 0
        self.simulate()

    def simulate(self, state=None):
        """Begin with a simulator of the same text, which knows what the `state` says."""
        snapshot = self.service.updater.snapshot
        place = {name: row for row, name in enumerate(snapshot.ids)}
        text = article_text(self.service.model, snapshot)[[place.get(name, 0) for name in self.ids]]
        self.simulated = ClickRates(CountLikelihood.of(self.task), text)
        if state is not None:
            self.simulated.restore(state)

    def take_up(self, task):
        """Go on with another task."""
        self.task, self.window = task, 0
        self.learner = WindowLearner(self.service, [task], self, self._cells, logged=True)

    def collect(self, task, window):
        """A sum of clicks whose noise happens to be nothing."""
        values = np.zeros(task.length, np.int64)
        for cell, article in enumerate(self.store.cells(task.id.hex(), window)):
            values[cell] = round(self.shows[article] ** 1.5 / 30)
        return NoisySum(values, task.guarantee(), 10**6)

    def play(self):
        """One more window, on the server and in the simulator."""
        shown = [name for name in self.service.updater.snapshot.ids if name in self.ids[NEW + self.resting :]]
        add_slates(self.service.store, [LoggedSlate((name,), self.shows[name]) for name in shown])
        for name in shown:
            self.waiting[name] += self.shows[name]
            self.told[name] += self.shows[name]
        self.now = self.task.begins(self.window + 1) + 0.5
        self.learner.close_windows()
        cells = self.store.cells(self.task.id.hex(), self.window)
        self.now = float(self.task.sent_until(self.window))
        self.learner.learn()
        if cells:
            rows = np.array([self.ids.index(name) for name in cells])
            clicks = self.collect(self.task, self.window).values[: len(rows)]
            exposure = np.array([self.waiting[name] for name in cells], np.float64)
            told = {self.ids.index(name): float(shows) for name, shows in self.told.items() if shows}
            seen = np.array(list(told)), np.array(list(told.values()))
            self.simulated.update(Window(self.task.begins(self.window + 1), rows, exposure, clicks, shown=seen))
            self.waiting |= dict.fromkeys(cells, 0)
            self.told = dict.fromkeys(self.ids, 0)
        self.window += 1
        return len(cells)

    def served(self):
        """The popularity that devices are sent."""
        rates, snapshot = self.service.updater.rates, self.service.updater.snapshot
        rates.read()
        return rates.of(snapshot)

    def slope(self):
        """What the server's β is."""
        model = self.service.model
        found = unpacked(self.store.learnt(model.version).state)
        return rates_on(model, self.service.updater.snapshot, found, CountLikelihood(0.0)).exposure_slope.beta


@pytest.fixture
def site(tmp_path):
    site = EditedSite(tmp_path)
    for _ in range(6):
        assert site.play() > 100
    yield site
    site.service.close()


def known_of(site):
    """What the simulator knows of what the server lists."""
    return site.simulated.log_rate(np.array([site.ids.index(name) for name in site.service.updater.snapshot.ids]))


def test_a_server_learns_of_exposure_what_the_simulator_learns(site):
    assert site.simulated.exposure_slope.beta.sum() > 0.2
    assert site.slope() == pytest.approx(site.simulated.exposure_slope.beta)
    np.testing.assert_allclose(site.served(), known_of(site), atol=1e-9)


@pytest.mark.parametrize("price", [DayPrice(0.002), DayPrice(0.004, 1e-6)])
def test_what_waits_for_its_sum_is_followed_as_in_the_simulator(tmp_path, price):
    site = EditedSite(tmp_path, price)
    due = [site.play() for _ in range(13)]
    assert 0 in due
    assert min(filter(None, due)) < 100 < max(due)
    assert site.simulated.exposure_slope.counts
    assert site.slope() == pytest.approx(site.simulated.exposure_slope.beta)
    np.testing.assert_allclose(site.served(), known_of(site), atol=1e-9)
    site.service.close()


def test_a_new_task_does_not_count_again_what_was_shown_under_the_one_before(site):
    site.take_up(replace(site.task, start=2 * DAY))
    for _ in range(2):
        site.play()
        np.testing.assert_allclose(site.served(), known_of(site), atol=1e-9)


def test_what_a_new_task_shows_later_has_no_past_in_it_either(site):
    site.take_up(replace(site.task, start=2 * DAY))
    site.resting = 5
    site.play()
    site.resting = 0
    site.play()
    np.testing.assert_allclose(site.served(), known_of(site), atol=1e-9)


def test_a_new_task_begins_where_the_one_before_ended_in_each_kind_of_database(database):
    store = ServerStore(open_engine(database))
    first = popularity_task(WINDOW, DayPrice(10.0), length=2, start=DAY, windows=6, leader=SITE, helper=SITE)
    for task, shown in ((first, 8), (replace(first, start=2 * DAY), 4)):
        add_slates(store, [LoggedSlate(("a", "b"), shown)])
        for _ in range(2):  # another worker closes it, too
            WindowStore(store).close_told(task, 0, ["a", "b"])
        closed = WindowStore(store).next_window([task.id.hex()])
        assert (closed.cells, closed.exposure.tolist()) == (["a", "b"], [shown / 2] * 2)
        assert closed.shown == dict.fromkeys(closed.cells, shown / 2)
    store.close()


def test_what_was_shown_is_followed_also_where_all_cells_of_a_window_were_taken_down(site):
    model, snapshot, shown = site.service.model, site.service.updater.snapshot, site.ids[-1]
    state = site.store.learnt(model.version).state
    end = site.task.begins(7)
    closed = ClosedWindow(
        site.task.id.hex(), 6, end, ["gone"], np.ones(1), logged=True, shown={"gone": 1.0, shown: 9.0}
    )
    found = NoisySum(np.ones(site.task.length, np.int64), site.task.guarantee(), 10**6)
    after = unpacked(learnt_from(model, snapshot, state, UsedSum(closed, site.task, found)))
    assert after["until"] == end
    before = unpacked(state)
    recent = [known["exposed"][known["articles"] == shown, 0] for known in (before, after)]
    assert recent[1] == pytest.approx(9.0 + recent[0] * 0.5 ** (WINDOW / 900))


def without(state, row):
    """What is known if an article is followed no more."""
    stays = state["article"] != row
    rows = {name: state[name][stays] for name in ("article", "evidence", "sums", "shown", "exposed")}
    return {**state, **rows, "exposed_before": state["exposed_before"] + summed_up(state["exposed"][~stays])}


def test_an_article_that_was_taken_down_still_tells_of_the_site_and_may_come_back(site):
    before, gone = site.slope(), site.ids[NEW + 7]
    site.simulate(without(site.simulated.state(), site.ids.index(gone)))
    assert site.service.store.take_down(gone, DELETED)
    site.service.updater.step()
    assert gone not in site.service.updater.snapshot.ids
    assert site.slope() == pytest.approx(before)
    np.testing.assert_allclose(site.served(), known_of(site), atol=1e-9)
    site.play()
    np.testing.assert_allclose(site.served(), known_of(site), atol=1e-9)
    site.service.store.put_articles(one for one in first_articles(ShownArticles.of(small_world())) if one.id == gone)
    site.service.updater.step()
    site.simulate(site.simulated.state())
    np.testing.assert_allclose(site.served(), known_of(site), atol=1e-9)
    site.play()
    assert len(site.served()) == len(site.ids)
    np.testing.assert_allclose(site.served(), known_of(site), atol=1e-9)


def test_what_was_learnt_can_be_learnt_again_and_rolled_back(site):
    before, slope = site.served(), site.slope()
    retrain(site.service)
    np.testing.assert_allclose(site.served(), before, atol=1e-9)
    assert site.slope() == pytest.approx(slope)
    version = site.service.versions.listing(1)[0].version
    site.play()
    assert not np.allclose(site.served(), before)
    site.service.versions.rollback(version)
    np.testing.assert_allclose(site.served(), before, atol=1e-9)


def test_what_version_0_5_learnt_is_read_and_goes_on(site):
    model, snapshot = site.service.model, site.service.updater.snapshot
    state = unpacked(site.store.learnt(model.version).state)
    older = unpacked(packed({name: value for name, value in state.items() if name not in EXPOSURE_STATE}))
    rates = rates_on(model, snapshot, older, CountLikelihood(1.0))
    assert not rates.exposure_slope.counts
    rows = np.arange(NEW, len(snapshot))
    rates.update(Window(site.task.begins(7), rows, np.ones(len(rows)), np.ones(len(rows), np.int64)))
    assert np.isfinite(rates.log_rate(np.arange(len(snapshot)))).all()
