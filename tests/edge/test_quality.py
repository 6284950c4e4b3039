"""What a device measures of its own ranking: the metrics are right, the bound holds, and zeros look like anything."""

import numpy as np
import pytest

from discreet.audits.quality import ARMS, WindowCost, all_views
from discreet.data.news import Impressions
from discreet.edge.reader.history import Click, History
from discreet.edge.reader.sums.measures import MEASURES, Observed
from discreet.edge.reader.sums.view_quality import GAINS, measured
from discreet.edge.reader.views import VIEW, OfferedExperiment, View
from discreet.evaluation.metrics import ranking_metrics
from discreet.protocol.quality_cells import EVERYBODY, LATTICE, MEASURE, quality_cells
from discreet.serving.learning.quality_estimates import quality_task

TASK = quality_task(ARMS, 0.1, start=0, windows=3)
PLACES = {cell: place for place, cell in enumerate(quality_cells(ARMS))}


def values(views, left=TASK.total):
    return MEASURES[MEASURE](TASK, Observed((), views, PLACES), left)


def test_no_window_of_any_views_moves_the_sums_by_more_than_the_theorem_says():
    """By enumeration: all windows of two views of three articles, in all arms; and the bound is attained."""
    totals = [TASK.checked(values(views)).sum() for views in all_views(3, 2)]
    assert max(totals) == TASK.total == 3 * LATTICE
    assert WindowCost(0.1, 3, 2).lower_bound(0, 0) == pytest.approx(0.1)


def test_the_metrics_are_those_of_the_evaluation():
    rng = np.random.default_rng(3)
    assert np.allclose(GAINS, 1e6 / np.log2(np.arange(10) + 2), atol=0.5)
    clicked = rng.random((40, VIEW)) < rng.choice((0.1, 0.5), (40, 1))
    clicked[:, 0], clicked[:, -1] = True, False
    none = np.zeros(40, np.int64)
    shown = np.arange(clicked.size, dtype=np.int32)
    slates = Impressions(none.astype(np.int32), none, VIEW * np.arange(41), shown, clicked.ravel(), shown, none, none)
    expected = ranking_metrics(-shown.astype(float), slates)
    for row, flags in enumerate(clicked.tolist()):
        good, bad, gained, click, none_clicked = measured([flags], LATTICE)
        assert good / LATTICE == pytest.approx(expected["auc"][row], abs=0.5 / LATTICE + 1e-9)
        assert gained / LATTICE == pytest.approx(expected["ndcg@10"][row], abs=0.5 / LATTICE + 2e-6)
        assert (good + bad, click, none_clicked) == (LATTICE, LATTICE, 0)


def test_nothing_shown_nothing_clicked_and_an_unknown_arm_give_zeros():
    assert not values([]).any()
    unclicked = values([View(EVERYBODY, (False,) * 5)])
    assert unclicked.tolist() == [0, 0, 0, 0, LATTICE] + [0] * 10
    assert not values([View("fedcba9876543210/c", (True, False))]).any()
    assert not values([View(EVERYBODY, (True, False))], left=TASK.total - 1).any()


def test_a_click_counts_in_the_latest_view_that_had_its_article():
    history = History(":memory:")
    history.add_view(10, EVERYBODY, ["a", "b", "c"])
    history.add_view(11, EVERYBODY, ["a", "b", "c"])  # unchanged: the same view
    history.add_view(20, EVERYBODY, ["b", "d"])
    for time, article in ((5, "a"), (15, "b"), (25, "c"), (26, "b"), (27, "x"), (99, "d")):
        history.add_click(Click(time, 0, article, "", 0, None, "", 0, b""))
    assert history.views(0, 50) == [View(EVERYBODY, (False, True, True)), View(EVERYBODY, (True, False))]
    history.forget()
    assert history.views(0, 50) == []


def test_a_device_draws_its_arm_by_its_own_secret_and_keeps_it():
    fields = {"id": "0123456789abcdef", "arms": [{"name": n, "popularity": 1.0, "content": 1.0} for n in "abc"]}
    experiment = OfferedExperiment.from_json(fields)
    drawn = [experiment.drawn(number.to_bytes(32, "big")).name for number in range(900)]
    assert drawn == [experiment.drawn(number.to_bytes(32, "big")).name for number in range(900)]
    assert min(drawn.count(f"0123456789abcdef/{n}") for n in "abc") > 250
    history = History(":memory:")
    secret = history.secret()
    assert history.secret() == secret
    history.forget()
    assert history.secret() != secret
