"""Exposure where devices rank by themselves: what they are expected to show, and what popularity is learnt with it."""

import numpy as np

from discreet.methods.front_page.click_rates import ClickRates
from discreet.methods.front_page.count_likelihood import CountLikelihood
from discreet.methods.front_page.windows import Window
from discreet.serving.learning.sum_popularity import SHOWN, expected_shares

ARTICLES, READERS, DEVIATION, WINDOW = 120, 400, 0.5, 900


def shown_first(base, rng, readers):
    """What devices show that rank by base and their own taste."""
    scores = base + DEVIATION * rng.standard_normal((readers, len(base)))
    return np.argsort(-scores, axis=1)[:, :SHOWN]


def test_expected_shares_are_what_devices_show():
    rng = np.random.default_rng(0)
    base = rng.normal(0, 0.6, ARTICLES)
    shown = shown_first(base, rng, 5000)
    counted = np.bincount(shown.ravel(), minlength=ARTICLES) / shown.size
    assert np.abs(expected_shares(base, DEVIATION) - counted).max() < 0.004
    assert expected_shares(base[:SHOWN], DEVIATION).tolist() == [1 / SHOWN] * SHOWN
    assert len(expected_shares(base[:0], DEVIATION)) == 0


def learnt_in_a_loop(shares_of):
    """The correlation of what is learnt with the true appeal, where what is learnt decides what is shown next."""
    rng = np.random.default_rng(1)
    appeal, fresh = rng.normal(0, 0.7, ARTICLES), rng.normal(0, 0.5, ARTICLES)
    rates = ClickRates(CountLikelihood(0.0), np.zeros((ARTICLES, 1)))
    rows = np.arange(ARTICLES)
    for window in range(1, 25):
        base = fresh + rates.log_rate(rows)
        shown = shown_first(base, rng, READERS)
        odds = np.exp(appeal[shown])
        place = (odds.cumsum(axis=1) > rng.random((READERS, 1)) * odds.sum(axis=1, keepdims=True)).argmax(axis=1)
        clicks = np.bincount(shown[np.arange(READERS), place], minlength=ARTICLES)
        rates.update(Window(window * WINDOW, rows, shares_of(base) * READERS, clicks, exposure_known=False))
    return np.corrcoef(rates.log_rate(rows), appeal)[0, 1], np.corrcoef(rates.log_rate(rows), fresh)[0, 1]


def test_popularity_is_learnt_and_not_what_was_shown():
    ours = learnt_in_a_loop(lambda base: expected_shares(base, DEVIATION))
    same_for_all = learnt_in_a_loop(lambda base: np.full(ARTICLES, 1 / ARTICLES))
    assert ours[0] > 0.8
    assert ours[0] > same_for_all[0] + 0.1
    assert abs(ours[1]) < 0.35 < same_for_all[1]
