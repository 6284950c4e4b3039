"""`front_page` on MIND's train days: popularity from sums helps where it should."""

import math

import numpy as np
import pytest

import discreet as d
from discreet.data.news import NewsData
from discreet.data.open import open_news
from discreet.evaluation.metrics import ranking_metrics
from discreet.text.frozen_language_model import installed_language_model

pytestmark = [pytest.mark.realdata, pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def last_day(shared_data):
    """MIND's train days but the last, and the last; the dev day is not looked at."""
    mind = open_news(shared_data / "mind")
    train = mind.splits["train"]
    last = train.time // 86400 == train.time.max() // 86400
    return NewsData(
        "train days", mind.articles, mind.readers, {"train": train.select(~last), "dev": train.select(last)}
    )


@pytest.mark.skipif(installed_language_model() is None, reason="figures are those of a language model's titles")
def test_gains_most_of_what_the_open_baseline_gains(last_day):
    def auc(method):
        return float(
            ranking_metrics(method.fit(last_day).score(last_day.splits["dev"]), last_day.splits["dev"])["auc"].mean()
        )

    content, combined = auc(d.Content()), auc(d.Combined())
    few, many, exact = (auc(d.FrontPage(epsilon=epsilon)) for epsilon in (0.1, 10, math.inf))
    assert few > content
    assert np.array([many, exact]) == pytest.approx(combined, abs=0.01)
    assert min(many, exact) > content + 0.6 * (combined - content)
