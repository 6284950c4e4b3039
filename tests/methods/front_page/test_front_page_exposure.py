"""How much exposure says of the click rate is learnt from released sums; what may be chance counts for nothing."""

from dataclasses import replace

import numpy as np
import pytest
from tests_support import make_articles, make_impressions, make_news

from discreet.audits.front_page import audited_log
from discreet.data.public_catalogue import PublicCatalogue
from discreet.data.shown_articles import ShownArticles
from discreet.methods.baselines import Exposure, Recency
from discreet.methods.front_page.click_rates import EXPOSURE_STATE, MAX_IDLE, ClickRates
from discreet.methods.front_page.count_likelihood import CountLikelihood
from discreet.methods.front_page.day_price import DayPrice
from discreet.methods.front_page.exposure_slope import ExposureSlope
from discreet.methods.front_page.front_page import FrontPage
from discreet.methods.front_page.head_articles import HeadArticles
from discreet.methods.front_page.held import Held
from discreet.methods.front_page.public_articles import PublicArticles
from discreet.methods.front_page.subcategories import Subcategories
from discreet.methods.front_page.windows import DAY, Log, Window, released_windows
from discreet.methods.method import TrainingTask
from discreet.privacy.noise import SimulatedNoise, rounded_up

ARTICLES, HOURS = 200, 24


def exposures(seed=0):
    return np.random.default_rng(seed).lognormal(0, 1, ARTICLES)


def learnt(slope, scale=0.0, seed=0, *, known=True, hours=HOURS):
    """What a day of sums tells of a site where the click rate grows with exposure, and articles differ besides."""
    random, noise, exposure = np.random.default_rng(seed), SimulatedNoise(seed), exposures()
    rate = exposure**slope * random.lognormal(0, 0.5, ARTICLES)
    rate /= (exposure * rate).sum() / exposure.sum()
    rates = ClickRates(CountLikelihood(scale), np.zeros((ARTICLES + 1, 1)))
    for hour in range(1, hours + 1):
        clicks = random.poisson(exposure * rate)
        if scale:
            clicks += sum(noise.discrete_laplace(rounded_up(scale), ARTICLES) for _ in range(2))
        rates.update(Window(hour * 3600, np.arange(ARTICLES), exposure, clicks, exposure_known=known))
    return rates


@pytest.mark.parametrize("scale", [0.0, 2.0])
def test_where_prominent_articles_are_clicked_more_they_rank_higher(scale):
    rates = learnt(0.5, scale)
    assert 0.3 < rates.exposure_slope.beta.sum() < 1.2
    most, least = exposures().argmax(), exposures().argmin()
    assert rates.log_rate(np.array([most]))[0] > rates.log_rate(np.array([least]))[0] + 0.5


def test_an_article_that_no_sum_has_had_is_as_prominent_as_the_mean():
    effect = learnt(0.5).exposure_slope.effect()
    assert effect[-1] == pytest.approx(effect[:-1].mean())
    assert effect[:-1].min() < effect[-1] - 0.5


def test_what_was_shown_but_waits_for_its_first_sum_is_as_prominent_as_the_mean():
    rates, new = learnt(0.5), np.array([ARTICLES])
    everything = np.arange(ARTICLES + 1), np.append(exposures(), 0.01)
    window = Window((HOURS + 1) * 3600, np.arange(ARTICLES), exposures(), np.ones(ARTICLES, np.int64), shown=everything)
    rates.update(window)
    effect = rates.exposure_slope.effect()
    assert effect[-2] == effect[-1] == pytest.approx(effect[:-2].mean())
    again = replace(window, end=(HOURS + 2) * 3600, articles=new, exposure=np.array([0.02]), released=np.ones(1, int))
    rates.update(again)
    assert rates.exposure_slope.effect()[-2] < effect[-2] - 0.5, "its sum has come: it is shown less than the others"


def edited(*, waits):
    """Two days of a site where what is on top just now is clicked less each time, and what was for hours more.

    The cells wait for some windows where `waits` says so; what is shown is told in every window.
    """
    random = np.random.default_rng(3)
    rates, held = ClickRates(CountLikelihood(0.0), np.zeros((ARTICLES, 1))), np.zeros((2, ARTICLES))
    lasting = random.lognormal(0, 0.4, ARTICLES)
    for quarter in range(1, 2 * 96 + 1):
        now = random.lognormal(0, 0.5, ARTICLES)
        shown, rate = lasting * now, (lasting / now) ** 0.5
        held += shown, random.poisson(shown * rate)
        due = np.flatnonzero(random.random(ARTICLES) < (0.3 if waits and quarter % 96 else 1.0))
        exposure, clicks = held[:, due]
        rates.update(Window(quarter * 900, due, exposure, clicks.astype(np.int64), shown=(np.arange(ARTICLES), shown)))
        held[:, due] = 0.0
    return rates


@pytest.mark.parametrize("waits", [False, True])
def test_what_is_on_top_just_now_counts_less_than_what_is_for_hours(waits):
    just_now, hours, day, _ = edited(waits=waits).exposure_slope.beta
    assert just_now < -0.3 < 0.5 < hours + day


def test_a_cell_that_waited_is_expected_to_have_the_clicks_of_all_that_it_was_shown():
    slope = learnt(0.5).exposure_slope
    row, seen = np.array([3, 5]), []
    for exposure in (np.array([1.0, 4.0]), np.array([9.0, 0.5])):
        slope.show(row, exposure)
        seen.append((exposure, np.exp(slope.effect()[row])))
    lifted = sum(exposure * effect for exposure, effect in seen) / sum(exposure for exposure, _ in seen)
    np.testing.assert_allclose(slope.lift(row), lifted)
    slope.learn(row, np.ones(2), np.ones(2), np.zeros(2))
    assert slope.lift(row).tolist() == [1.0, 1.0], "nothing waits any more"


def test_an_article_that_was_followed_before_exposure_was_known_is_as_prominent_as_the_mean():
    rates, old = learnt(0.5), np.array([ARTICLES])
    rates.update(Window((HOURS + 1) * 3600, old, np.ones(1), np.ones(1, np.int64), exposure_known=False))
    effect = rates.exposure_slope.effect()
    assert effect[-2] == effect[-1] == pytest.approx(effect[:-2].mean())


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-80, 1.0, 1e80])
def test_a_slope_is_finite_whatever_the_size_of_exposure(size):
    rates = ClickRates(CountLikelihood(1.0), np.zeros((ARTICLES, 1)))
    for hour in range(1, 4):
        shown = exposures() * size
        rates.update(Window(hour * 3600, np.arange(ARTICLES), shown, np.full(ARTICLES, 5)))
    assert np.isfinite(rates.log_rate(np.arange(ARTICLES))).all()
    assert np.isfinite(rates.exposure_slope.effect()).all()


def test_whether_prominence_counts_is_decided_when_a_day_closes():
    rates, first = learnt(0.5), learnt(0.5, hours=HOURS - 1)
    assert rates.exposure_slope.counts
    assert not first.exposure_slope.counts
    before = rates.exposure_slope.beta
    rates.update(Window((HOURS + 1) * 3600, np.arange(ARTICLES), exposures(), np.zeros(ARTICLES, np.int64)))
    assert np.array_equal(rates.exposure_slope.beta, before)


def test_the_decision_is_made_although_the_last_window_of_a_day_has_no_sum():
    """Nobody was shown anything in it, the server was down, or too few devices took part."""
    rates, closed = learnt(0.5, hours=HOURS - 1), learnt(0.5, hours=HOURS - 1)
    closed.exposure_slope.settle()
    for hour in (HOURS + 1, HOURS + 2):
        rates.update(Window(hour * 3600, np.arange(ARTICLES), exposures(), np.zeros(ARTICLES, np.int64)))
        np.testing.assert_array_equal(rates.exposure_slope.beta, closed.exposure_slope.beta)
    assert rates.exposure_slope.counts


def test_where_exposure_is_estimated_from_now_on_prominence_counts_until_the_day_closes():
    rates = learnt(0.5)
    for hour in range(HOURS + 1, 2 * HOURS + 1):
        assert rates.exposure_slope.counts
        window = Window(hour * 3600, np.arange(ARTICLES), exposures(), np.ones(ARTICLES, np.int64))
        rates.update(replace(window, exposure_known=False))
    assert not rates.exposure_slope.counts, "it would take the server's own ranking for an editor's"


def test_a_sum_of_another_task_that_comes_late_does_not_turn_time_back():
    rates, in_time = learnt(0.5), learnt(0.5)
    window = Window(HOURS * 3600, np.arange(ARTICLES), exposures(), np.ones(ARTICLES, np.int64))
    in_time.update(window)
    rates.update(replace(window, end=(HOURS - 8) * 3600))
    assert rates.until == in_time.until
    np.testing.assert_array_equal(rates.log_rate(np.arange(ARTICLES)), in_time.log_rate(np.arange(ARTICLES)))


def test_where_prominent_articles_are_clicked_less_exposure_counts_for_nothing():
    assert not learnt(-0.5).exposure_slope.counts


@pytest.mark.parametrize("scale", [0.0, 2.0])
def test_where_exposure_says_nothing_it_counts_for_nothing(scale):
    found = [learnt(0.0, scale, seed).exposure_slope.counts for seed in range(20)]
    assert sum(found) <= 1, "three deviations above 0 by chance: one site in 740"


def test_an_estimated_exposure_teaches_no_slope():
    assert not learnt(0.5, known=False).exposure_slope.counts


def test_articles_that_are_shown_no_more_still_tell_of_the_site():
    rates = learnt(0.5)
    before = rates.exposure_slope.beta.sum()
    rates.update(Window(HOURS * 3600 + MAX_IDLE + 3600, np.array([ARTICLES]), np.ones(1), np.array([1])))
    assert len(rates.exposure_slope.by_article) == 1
    rates.exposure_slope.settle()
    assert rates.exposure_slope.beta.sum() == pytest.approx(before, rel=0.05)


def test_what_was_learnt_of_exposure_is_kept_and_older_runs_are_read():
    rates, everything = learnt(0.5), np.arange(ARTICLES + 1)
    again, older = (ClickRates(CountLikelihood(0.0), np.zeros((ARTICLES + 1, 1))) for _ in range(2))
    again.restore(rates.state())
    assert np.array_equal(again.log_rate(everything), rates.log_rate(everything))
    scalar = {"exposed": np.ones((ARTICLES, 3)), "exposed_before": np.zeros(3), "prominence": np.array([0.4])}
    older.restore({**{name: value for name, value in rates.state().items() if name not in EXPOSURE_STATE}, **scalar})
    assert not older.exposure_slope.counts, "version 0.6 knew one slope, for one time scale"
    older.update(Window((HOURS + 1) * 3600, np.arange(ARTICLES), exposures(), np.ones(ARTICLES, np.int64)))
    assert np.isfinite(older.log_rate(everything)).all()


def test_nothing_is_known_of_a_site_without_exposure():
    assert ExposureSlope.of_nothing().effect().tolist() == [0.0]


def sampled_log(clicks):
    """Two days of slates of three articles that are always the same, and a fourth that was clicked."""
    public, own, slates = np.random.default_rng(0), np.random.default_rng(clicks), 80
    others = np.stack([public.choice(20, 3, replace=False) for _ in range(slates)])
    taken = 20 + own.integers(0, 10, (slates, 1))
    shown = np.concatenate((others, taken), axis=1)
    part = make_impressions(shown.tolist(), [[0, 0, 0, 1]] * slates, time=np.arange(slates) * (2 * DAY // slates))
    part = replace(part, reader=public.integers(0, 6, slates).astype(np.int32), sampled=True)
    articles = make_articles([f"title {i % 7} of {i % 11}" for i in range(30)])
    sections = [f"s{i % 4}" for i in range(30)]
    articles = replace(articles, categories=[f"c{i % 3}" for i in range(30)], subcategories=sections)
    return replace(make_news(articles, train=part), readers=[str(i) for i in range(6)])


def public_side(clicks):
    """All that is made of slates before the first sum, and what is due in each window."""
    data = sampled_log(clicks)
    task, shown = TrainingTask(data, "hashed"), ShownArticles.of(data)
    public, head = PublicArticles.of(task), HeadArticles.of(task)
    found = [public.vectors, public.share, public.text, np.array(public.unit), head.basis, head.centre]
    found += [Subcategories.of(task).share, shown.first_shown, shown.times_shown, PublicCatalogue.of(data).times_shown]
    asked = replace(data.splits["train"], shown=np.zeros_like(data.splits["train"].shown))
    found += [Recency().score(task, {}, asked, 0), Exposure().score(task, {}, asked, 0)]
    for window in FrontPage(window_minutes=360).windows(task, 0):
        assert not window.exposure_known
        assert window.shown is None
        found += [window.articles, window.exposure]
    return found


def test_nothing_public_is_made_from_the_clicks_of_sampled_slates():
    for one, other in zip(public_side(1), public_side(2), strict=True):
        assert np.array_equal(one, other)


def test_a_click_that_was_not_due_on_its_day_is_not_held_into_the_next():
    """In a sampled slate the click has no exposure. Held, clicks of two days would be in one contribution."""
    held = Held(3, 1.0)
    held.add(np.array([0]), np.ones(1), np.array([1]), np.array([0]))
    assert held.due(closes_day=True).articles.tolist() == [0]
    held.add(np.array([1]), np.ones(1), np.array([1]), np.array([0]))
    due = held.due(closes_day=True)
    assert (due.articles.tolist(), due.click_cell.tolist()) == ([1], [0])


def test_exposure_of_sampled_slates_does_not_tell_what_was_clicked():
    split = audited_log(1).splits["train"]
    for sampled in (False, True):
        part = replace(split, sampled=sampled)
        log = Log.of([part], 6, DAY, 0)
        assert log.exposure.sum() == pytest.approx((~part.clicked | (not sampled)).sum() / part.slate_sizes[0])
        known = {window.exposure_known for window in released_windows(log, DAY, DayPrice(1.0), 1, 0)}
        assert known == {not sampled}, "who drew the others is no editor"
