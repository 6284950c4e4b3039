"""What popularity is worth when exposure is known, estimated, contributed, or not needed (residuals).

    python benchmarks/exposure.py                       # a generated world
    python benchmarks/exposure.py --data MINDsmall      # its train days: the last one is ranked, dev is not looked at

All cases have hourly windows in which every listed article has a cell, and ε per reader and day. They differ in what is
known of how often an article was shown:

- known: the server sent the slates, and counts 1/C for each of C articles.
- estimated: devices rank the catalogue. The server expects what is shown from the scores that it sends everybody.
- contributed: half of ε is for clicks, half for shows: of one slate a day a device contributes 1/C in each of C cells.
  The noised shows correct the estimate.
- residual: of one slate a day a device contributes, in each cell, clicked − p, with p the soft-max of its own scores:
  at most 2 in L1, and zero on average for what is merely shown. The estimate sets the size of a step, not its sign.
"""

from __future__ import annotations

import argparse
import math
from fractions import Fraction

import numpy as np

from discreet.data.news import NewsData
from discreet.data.open import open_news
from discreet.data.synthetic import news_world
from discreet.evaluation.metrics import ranking_metrics
from discreet.methods.front_page.click_rates import ClickRates
from discreet.methods.front_page.count_likelihood import CountLikelihood
from discreet.methods.front_page.front_page import FrontPage
from discreet.methods.front_page.public_articles import PublicArticles
from discreet.methods.front_page.windows import DAY, Window
from discreet.methods.method import TrainingTask
from discreet.privacy.noise import SimulatedNoise, rounded_up
from discreet.serving.learning.sum_popularity import expected_shares

HOUR, LISTED, STEPS = 3600, DAY, 120
"""Seconds of a window; for how long an article is listed after it was last shown; steps of the lattice in a click."""
CASES = ("known", "estimated", "contributed", "residual")
PERSONAL = 0.45
"""The standard deviation of the personal part of a score, as the server takes it."""


class Site:
    """A data set's slates in the order of time, with what devices make of their histories."""

    def __init__(self, data, text):
        self.task = TrainingTask(data, text)
        self.parts = [data.splits["train"], data.splits["dev"]]
        self.own = [FrontPage().device_scores(self.task, part) for part in self.parts]
        self.last_shown = np.full(len(data.articles), -(10**9))

    def slates(self, begin, end):
        """Of each part the slates in a window: which, and the scores that devices gave without popularity."""
        for part, own in zip(self.parts, self.own, strict=True):
            for row in np.flatnonzero((part.time >= begin) & (part.time < end)).tolist():
                shown = slice(part.slate[row], part.slate[row + 1])
                yield int(part.reader[row]), part.shown[shown], part.clicked[shown], own[shown]


def rates_of_last_day(site, case, epsilon, seed):
    """Of each article that the last day shows, the log rate known when its window began."""
    noise, dev = SimulatedNoise(np.random.SeedSequence([seed, 9])), site.parts[1]
    size = len(site.task.data.articles)
    moved = {"residual": 2, "contributed": 2}.get(case, 1)
    scale = 0.0 if math.isinf(epsilon) else moved / epsilon
    steps = STEPS if case == "residual" else 1
    learnt = ClickRates(CountLikelihood(scale * steps, steps), PublicArticles.of(site.task).text)
    last, found, day, given = site.last_shown.copy(), np.zeros(len(dev.shown)), -1, set()
    owner = np.repeat(dev.time // HOUR, dev.slate_sizes)
    first, end = (int(f(np.concatenate([p.time for p in site.parts]))) for f in (np.min, np.max))
    for begin in range(first // HOUR * HOUR, end + 1, HOUR):
        now = owner == begin // HOUR
        found[now] = learnt.log_rate(dev.shown[now])
        if begin // DAY != day:
            day, given = begin // DAY, set()
        rates = learnt.log_rate(np.arange(size))
        clicks, shows, residual, exposure = (np.zeros(size) for _ in range(4))
        count = 0
        for reader, shown, clicked, own in site.slates(begin, begin + HOUR):
            last[shown] = begin
            exposure[shown] += 1 / len(shown)
            count += 1
            if reader in given or not clicked.any():
                continue
            given.add(reader)
            chosen = shown[np.flatnonzero(clicked)[0]]
            score = own + rates[shown]
            chance = np.exp(score - score.max())
            clicks[chosen] += 1
            shows[shown] += np.trunc(STEPS / len(shown)) / STEPS
            residual[shown] -= np.trunc(STEPS * chance / chance.sum()) / STEPS
            residual[chosen] += 1
        listed = np.flatnonzero(last > begin - LISTED)
        if not count or not len(listed):
            continue
        guess = count * expected_shares(rates[listed], PERSONAL)
        known = {"known": np.maximum(exposure[listed], 1e-3)}.get(case, guess)
        if case == "contributed":
            noised = shows[listed] + noise_of(noise, scale, STEPS, len(listed))
            variance = guess**2
            known = guess + (noised - guess) * variance / (variance + 4 * scale**2 + guess)
            known = np.maximum(known, 0.1 * guess)
        if case == "residual":
            released = residual[listed] + known * learnt.slate_clicks * np.exp(rates[listed])
        else:
            released = clicks[listed]
        released = np.rint(steps * (released + noise_of(noise, scale, steps, len(listed))))
        learnt.update(Window(begin + HOUR, listed, known, released.astype(np.int64)))
    return found


def noise_of(noise, scale, steps, size):
    """The noise of two aggregators, on a lattice of so many steps in a click."""
    if not scale:
        return np.zeros(size)
    return sum(noise.discrete_laplace(rounded_up(Fraction(scale) * steps), size) for _ in range(2)) / steps


def last_train_day(data):
    """The train days but the last, and the last."""
    train = data.splits["train"]
    last = train.time // DAY == train.time.max() // DAY
    return NewsData(
        "train days", data.articles, data.readers, {"train": train.select(~last), "dev": train.select(last)}
    )


def main():
    """Print the AUC of the last day, and its paired difference from ranking without popularity."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", help="a data set; without one a world is generated")
    parser.add_argument("--readers", type=int, default=2000, help="of the generated world")
    parser.add_argument("--epsilon", default="1,3,inf")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--text", default="auto")
    options = parser.parse_args()
    data = last_train_day(open_news(options.data)) if options.data else news_world(options.readers, seed=12)
    site = Site(data, options.text)
    dev, own = site.parts[1], site.own[1]
    without = ranking_metrics(own, dev)["auc"]
    print(f"{'without popularity':<30}{without.mean():.4f}")
    for epsilon in map(float, options.epsilon.split(",")):
        for case in CASES:
            draws = range(1 if math.isinf(epsilon) else options.seeds)
            found = np.mean(
                [ranking_metrics(own + rates_of_last_day(site, case, epsilon, n), dev)["auc"] for n in draws], axis=0
            )
            gain = found - without
            error = gain.std() / math.sqrt(len(gain))
            print(f"{case + f', ε = {epsilon:g}':<30}{found.mean():.4f}  {gain.mean():+.4f} ± {error:.4f}", flush=True)


if __name__ == "__main__":
    main()
