"""The posterior finds what is popular, as far as the noise lets it, and no further."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.methods.front_page.click_rates import MAX_IDLE, PRIOR_DEVIATION, ClickRates
from discreet.methods.front_page.count_likelihood import CountLikelihood
from discreet.methods.front_page.windows import Window
from discreet.privacy.noise import SimulatedNoise, rounded_up

ARTICLES = 40


def simulated(scale, hours=24, seed=0, text=None, rates=None):
    """A posterior after some hours of a site where article 0 is three times as popular as the others."""
    random, noise = np.random.default_rng(seed), SimulatedNoise(seed)
    rates = np.r_[3.0, np.ones(ARTICLES - 1)] if rates is None else rates
    text = np.zeros((ARTICLES, 1)) if text is None else text
    learnt = ClickRates(CountLikelihood(scale), text)
    for hour in range(1, hours + 1):
        clicks = random.poisson(rates)
        if scale:
            clicks += sum(noise.discrete_laplace(rounded_up(scale), ARTICLES) for _ in range(2))
        learnt.update(Window(hour * 3600, np.arange(ARTICLES), np.ones(ARTICLES), clicks))
    return learnt


def test_a_popular_article_has_a_higher_rate():
    rates = simulated(0.0).log_rate(np.arange(ARTICLES))
    assert rates.argmax() == 0
    assert rates[0] - rates[1:].mean() == pytest.approx(np.log(3), abs=0.35)


def test_more_noise_draws_the_rates_to_the_prior():
    gaps = []
    for scale in (0.0, 2.0, 50.0):
        rates = simulated(scale).log_rate(np.arange(ARTICLES))
        gaps.append(rates[0] - rates[1:].mean())
    assert gaps[0] > gaps[1] > gaps[2]
    assert abs(gaps[2]) < 0.3


@pytest.mark.parametrize("wild", [2**20 + 5, 4096, 400, -400, -(2**40)])
@pytest.mark.parametrize("scale", [0.0, 2.0])
def test_a_count_that_no_rate_explains_is_forgotten_at_once(wild, scale):
    """Of a damaged sum; the other articles of the window teach as ever, and the next windows do."""
    usual = simulated(scale, 12)
    spoilt = simulated(scale, 12)
    window = Window(13 * 3600, np.arange(ARTICLES), np.ones(ARTICLES), np.ones(ARTICLES, np.int64))
    usual.update(window)
    window.released[7] = wild
    spoilt.update(window)
    found, expected = (one.log_rate(np.arange(ARTICLES)) for one in (spoilt, usual))
    assert np.abs(found - expected).max() < 0.1
    window = replace(window, end=14 * 3600, released=np.r_[np.ones(ARTICLES - 1, np.int64), 25])
    spoilt.update(window)
    assert spoilt.log_rate(np.array([ARTICLES - 1]))[0] > found[-1] + 0.15, "many clicks are none the less clicks"


def test_posterior_is_calibrated_under_noise():
    """Over many articles drawn from the prior, the slope of true on estimated log rate is about 1."""
    random = np.random.default_rng(3)
    truth, found = [], []
    for seed in range(20):
        theta = random.normal(0, 0.7, ARTICLES)
        rates = np.exp(theta) / np.exp(theta).mean()
        found.append(simulated(1.0, 12, seed, rates=rates).log_rate(np.arange(ARTICLES)))
        truth.append(np.log(rates))
    truth, found = (np.concatenate([x - x.mean() for x in values]) for values in (truth, found))
    assert 0.8 < truth @ found / (found @ found) < 1.2


def test_known_articles_are_in_the_mean_where_an_unknown_one_is():
    """Rates are skewed: of articles drawn from the prior the mean is clicked e^{σ²/2} times as often as the median."""
    random = np.random.default_rng(4)
    found = []
    for seed in range(10):
        rates = np.exp(random.normal(0, PRIOR_DEVIATION, ARTICLES))
        learnt = simulated(0.0, 24, seed, rates=rates, text=np.zeros((ARTICLES + 1, 1)))
        found.append(learnt.log_rate(np.arange(ARTICLES + 1)))
    known, unknown = np.array(found)[:, :-1], np.array(found)[:, -1]
    assert not unknown.any()
    assert known.mean() == pytest.approx(0.0, abs=0.12)


def test_text_predicts_an_article_that_was_never_shown():
    text = np.zeros((ARTICLES + 2, 2))
    text[np.arange(ARTICLES), np.arange(ARTICLES) % 2] = 1
    text[ARTICLES, 0] = text[ARTICLES + 1, 1] = 1
    rates = np.where(np.arange(ARTICLES) % 2, 0.5, 1.5)
    liked, other = simulated(1.0, 48, text=text, rates=rates).log_rate(np.array([ARTICLES, ARTICLES + 1]))
    assert liked > 0.1
    assert other < -0.1


def test_state_goes_on_where_it_stopped():
    learnt = simulated(1.0)
    again = ClickRates(CountLikelihood(1.0), np.zeros((ARTICLES, 1)))
    again.restore(learnt.state())
    window = Window(25 * 3600, np.array([1, 5]), np.ones(2), np.array([4, 0]))
    for posterior in (learnt, again):
        posterior.update(window)
    assert np.array_equal(learnt.log_rate(np.arange(ARTICLES)), again.log_rate(np.arange(ARTICLES)))


def test_what_is_shown_no_more_is_forgotten():
    learnt = simulated(0.0)
    assert learnt.log_rate(np.array([0]))[0] > 0.5
    end = 24 * 3600 + MAX_IDLE + 3600
    learnt.update(Window(end, np.array([1]), np.ones(1), np.array([1])))
    assert learnt.log_rate(np.array([0]))[0] == 0
    assert len(learnt.state()["article"]) == 1


def test_a_device_that_was_away_for_a_week_has_the_same_rates_as_one_that_was_there():
    """Rates are public and the same for all: nothing depends on who fetched them when."""
    learnt = simulated(1.0)
    before = learnt.log_rate(np.arange(ARTICLES))
    assert np.array_equal(before, learnt.log_rate(np.arange(ARTICLES)))


def test_hardly_any_reader_means_a_wide_posterior_and_not_noise():
    """With a click in a hundred windows, noise of scale 2 moves no rate far."""
    learnt = simulated(2.0, 24, rates=np.full(ARTICLES, 0.01))
    assert np.abs(learnt.log_rate(np.arange(ARTICLES))).max() < 1.5
