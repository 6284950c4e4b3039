import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from discreet.data.news import Impressions
from discreet.errors import DiscreetError
from discreet.evaluation import metrics
from discreet.evaluation.metrics import METRICS, ranking_metrics


def make_impressions(slates, readers=None, labelled=True):
    """Impressions with the given click patterns, no histories."""
    sizes = [len(slate) for slate in slates]
    n = len(slates)
    return Impressions(
        reader=np.arange(n, dtype=np.int32) if readers is None else np.asarray(readers, dtype=np.int32),
        time=np.arange(n, dtype=np.int64),
        slate=np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        shown=np.arange(sum(sizes), dtype=np.int32),
        clicked=np.array([bool(c) for slate in slates for c in slate], dtype=np.bool_),
        timeline=np.zeros(0, dtype=np.int32),
        history_start=np.zeros(n, dtype=np.int64),
        history_stop=np.zeros(n, dtype=np.int64),
        labelled=labelled,
    )


def plain_mrr(y, s):
    y = np.asarray(y)[np.argsort(-np.asarray(s), kind="stable")]
    return np.sum(y / (np.arange(len(y)) + 1)) / np.sum(y)


def plain_dcg(y, s, k):
    y = np.asarray(y)[np.argsort(-np.asarray(s), kind="stable")[:k]]
    return np.sum((2.0**y - 1) / np.log2(np.arange(len(y)) + 2))


def plain_ndcg(y, s, k):
    return plain_dcg(y, s, k) / plain_dcg(y, y, k)


slate_and_scores = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 1), min_size=n, max_size=n),
        st.lists(st.integers(-3, 3).map(float), min_size=n, max_size=n),
    )
)


@settings(deadline=None, max_examples=60)
@given(st.lists(slate_and_scores, min_size=1, max_size=12), st.sampled_from([1, 7, 1 << 18]))
def test_equals_the_official_definition_impression_by_impression(cases, pairs_at_once):
    measurable = [i for i, (y, _) in enumerate(cases) if 0 < sum(y) < len(y)]
    impressions = make_impressions([y for y, _ in cases])
    scores = np.array([x for _, s in cases for x in s])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "_PAIRS_AT_ONCE", pairs_at_once)
        if not measurable:
            with pytest.raises(DiscreetError, match="nothing to evaluate"):
                ranking_metrics(scores, impressions)
            return
        result = ranking_metrics(scores, impressions)
    assert result.impression.tolist() == measurable
    assert result.reader.tolist() == measurable
    assert result.left_out == len(cases) - len(measurable)
    for place, i in enumerate(measurable):
        y, s = cases[i]
        assert result["auc"][place] == pytest.approx(roc_auc_score(y, s), abs=1e-12)
        assert result["mrr"][place] == pytest.approx(plain_mrr(y, s), abs=1e-12)
        assert result["ndcg@5"][place] == pytest.approx(plain_ndcg(y, s, 5), abs=1e-12)
        assert result["ndcg@10"][place] == pytest.approx(plain_ndcg(y, s, 10), abs=1e-12)


def test_a_case_worked_by_hand():
    # Ranked: not, clicked, clicked, not. AUC: of four pairs two are right.
    result = ranking_metrics(np.array([0.9, 0.1, 0.8, 0.5]), make_impressions([[0, 0, 1, 1]]))
    assert result["auc"][0] == pytest.approx(2 / 4)
    assert result["mrr"][0] == pytest.approx((1 / 2 + 1 / 3) / 2)
    expected = (1 / np.log2(3) + 1 / np.log2(4)) / (1 / np.log2(2) + 1 / np.log2(3))
    assert result["ndcg@5"][0] == pytest.approx(expected)
    assert result["ndcg@10"][0] == pytest.approx(expected)


def test_clicks_below_the_cut_gain_nothing_and_the_ideal_is_cut_too():
    slate = [0] * 5 + [1] * 7
    result = ranking_metrics(-np.arange(12.0), make_impressions([slate]))
    assert result["ndcg@5"][0] == 0
    top = [1 / np.log2(r + 1) for r in range(1, 11)]
    assert result["ndcg@10"][0] == pytest.approx(sum(top[5:]) / sum(top[:7]))


def test_equal_scores_rank_in_slate_order_and_count_half_in_auc():
    result = ranking_metrics(np.zeros(6), make_impressions([[1, 0, 0], [0, 0, 1]]))
    assert result["auc"].tolist() == [0.5, 0.5]
    assert result["mrr"].tolist() == pytest.approx([1, 1 / 3])


def test_impressions_without_contrast_are_left_out_and_counted():
    impressions = make_impressions([[0, 0], [1, 0], [1, 1], [], [1], [0, 1]], readers=[9, 8, 7, 6, 5, 4])
    result = ranking_metrics(np.arange(9.0), impressions)
    assert (len(result), result.left_out) == (2, 4)
    assert result.impression.tolist() == [1, 5]
    assert result.reader.tolist() == [8, 4]
    assert result["auc"].tolist() == [0, 1]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_refused(bad):
    scores = np.array([0.0, 1.0, bad, 3.0])
    with pytest.raises(DiscreetError, match=r"1 of 4 scores are not finite .* in impression 1"):
        ranking_metrics(scores, make_impressions([[0, 1], [1, 0]]))


def test_scores_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="shown articles"):
        ranking_metrics(np.zeros(3), make_impressions([[0, 1]]))


def test_a_split_without_published_clicks_is_refused():
    with pytest.raises(DiscreetError, match="never published"):
        ranking_metrics(np.zeros(2), make_impressions([[0, 0]], labelled=False))


def test_single_precision_scores_keep_their_order():
    scores = np.random.default_rng(5).normal(size=400).astype(np.float32)
    impressions = make_impressions(np.random.default_rng(6).integers(0, 2, (10, 40)))
    double, single = ranking_metrics(scores.astype(np.float64), impressions), ranking_metrics(scores, impressions)
    for name in METRICS:
        assert single[name].tolist() == double[name].tolist()
