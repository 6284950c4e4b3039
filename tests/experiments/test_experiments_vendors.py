"""The comparison of vendors' methods: what is measured, with which uncertainty, and that it can be resumed."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from markupsafe import escape

from discreet.data.ratings import Ratings
from discreet.data.synthetic.rating_world import ratings_world
from discreet.errors import DiscreetError
from discreet.experiments.cache import MeasurementCache
from discreet.experiments.rating_comparison import Design, compare, fingerprint
from discreet.experiments.rating_results import BUCKETS, VendorComparison, VendorResult
from discreet.experiments.rating_table import markdown_table
from discreet.experiments.report import html_report
from discreet.experiments.vendor_gains import mean_over_vendors
from discreet.privacy.guarantee import Unit
from discreet.vendors.gibbs import GibbsMF
from discreet.vendors.item_features import GROUP_EDGES, rating_counts
from discreet.vendors.methods.baselines import Full, GlobalMean, ItemMeans, Local
from discreet.vendors.partition import Distribution, folds, partition
from discreet.vendors.vendor_method import Setting
from discreet.vendors.vendor_registry import METHODS, make_methods

TINY = GibbsMF(rank=1, iterations=6, burn_in=2)


@pytest.fixture(scope="module")
def ratings() -> Ratings:
    return ratings_world(120, 60, 2500, seed=4)


def result(method: str, rmse: list[list[float]], epsilon: float | None = None) -> VendorResult:
    """A method that has these RMSEs by partition and vendor, all on items that the vendor never rated."""
    squared = np.zeros((len(rmse), 1, len(rmse[0]), len(BUCKETS)))
    squared[:, 0, :, 0] = np.square(rmse)
    tested = np.zeros_like(squared)
    tested[..., 0] = 1
    guarantee = None
    if epsilon is not None:
        made, _ = make_methods(["sharing"], [epsilon], Setting(Distribution.HORIZONTAL, 4))
        guarantee = made[1].guarantee(4)
    return VendorResult(method, epsilon, squared, tested, guarantee)


def compared(*results: VendorResult) -> VendorComparison:
    return VendorComparison("world", 4, "by hand", results)


# --- what is measured


def test_rmse_is_that_of_the_vendors_own_tested_tenth(ratings: Ratings) -> None:
    found = compare(ratings, Design(vendors=3, seed=7), [Local(TINY), GlobalMean()], MeasurementCache())
    parts = [folds(part, seed=7)[0] for part in partition(ratings, 3, seed=7)]
    mean = np.concatenate([part.train.value for part in parts]).mean(dtype=np.float64)
    expected = [np.sqrt(np.mean((part.test.value - mean) ** 2)) for part in parts]
    assert found.results[1].rmse[0] == pytest.approx(expected, rel=1e-6)
    model = Local(TINY).predictor(None, 2, parts[2].train, 7)
    missed = model.predict(parts[2].test.user, parts[2].test.item) - parts[2].test.value
    assert found.local.rmse[0, 2] == pytest.approx(np.sqrt(np.mean(missed**2)))


def test_every_rating_is_tested_once_in_ten_folds(ratings: Ratings) -> None:
    found = compare(ratings, Design(vendors=2, folds=10), [ItemMeans()], MeasurementCache())
    assert found.local.tested.sum() == len(ratings)
    assert found.local.rmse.shape == (1, 2)


def test_tail_is_counted_by_the_vendors_own_training_ratings(ratings: Ratings) -> None:
    found = compare(ratings, Design(vendors=4, seed=1), [GlobalMean()], MeasurementCache())
    part = folds(partition(ratings, 4, seed=1)[3], seed=1)[0]
    counts = rating_counts(part.train)[part.test.item]
    edges = (0, *GROUP_EDGES, 10**9)
    expected = [((low <= counts) & (counts < high)).sum() for low, high in pairwise(edges)]
    assert found.local.tested[0, 0, 3].tolist() == expected


def test_only_the_first_vendors_are_reported_and_they_are_the_same(ratings: Ratings) -> None:
    methods = [GlobalMean()]
    few = compare(ratings, Design(vendors=5, reported=2), methods, MeasurementCache())
    everyone = compare(ratings, Design(vendors=5), methods, MeasurementCache())
    assert (few.local.rmse == everyone.local.rmse[:, :2]).all()
    with pytest.raises(DiscreetError, match="1 to 5 can be reported"):
        Design(vendors=5, reported=6)


def test_partitions_differ_and_are_numbered_from_the_seed(ratings: Ratings) -> None:
    both = compare(ratings, Design(vendors=3, partitions=2, seed=5), [GlobalMean()], MeasurementCache()).local.rmse
    second = compare(ratings, Design(vendors=3, seed=6), [GlobalMean()], MeasurementCache()).local.rmse
    assert (both[1] == second[0]).all()
    assert (both[0] != both[1]).any()


def test_matched_full_knows_a_user_everywhere(ratings: Ratings) -> None:
    vendors = partition(ratings, 3, distribution=Distribution.VERTICAL)
    shared = Full(TINY).share(vendors, 0)
    names = [[list(vendor.users)[u] for u in range(len(vendor.users))] for vendor in vendors]
    common = set(names[0]) & set(names[1])
    assert common
    for name in common:
        assert shared[0].numbers[names[0].index(name)] == shared[1].numbers[names[1].index(name)]


# --- resuming


def test_goes_on_where_it_stopped(ratings: Ratings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    design, methods, cache = Design(vendors=3), [Local(TINY), GlobalMean()], MeasurementCache(tmp_path)
    calls: list[int] = []
    fit = Local.predictor

    def interrupted(self: Local, shared: None, recipient: int, own: Ratings, seed: int):
        if recipient == 2 and len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(recipient)
        return fit(self, shared, recipient, own, seed)

    monkeypatch.setattr(Local, "predictor", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compare(ratings, design, methods, cache)
    assert len(list(tmp_path.iterdir())) == 2
    monkeypatch.setattr(Local, "predictor", lambda *_: pytest.fail("measured again") if _[2] < 2 else fit(*_))
    resumed = compare(ratings, design, methods, cache)
    monkeypatch.undo()
    assert [result.reused for result in resumed.results] == [2, 0]
    assert "Reused from an earlier comparison: local" in resumed.reuse()
    anew = compare(ratings, design, methods, MeasurementCache())
    assert all(np.array_equal(old.rmse, new.rmse) for old, new in zip(resumed.results, anew.results, strict=True))

    def reused(cache: MeasurementCache) -> list[int]:
        return [result.reused for result in compare(ratings, design, methods, cache).results]

    assert reused(MeasurementCache(tmp_path, fresh=True)) == [0, 0]
    assert reused(cache) == [3, 3]
    monkeypatch.setattr("discreet.experiments.cache.versions", lambda: {"code": "changed"})
    assert reused(cache) == [0, 0]


@pytest.mark.parametrize("damage", [b"", b"[1, 2]", b"\xff\xfe", b'{"squared": 1}'])
def test_a_damaged_measurement_is_made_again(ratings: Ratings, tmp_path: Path, damage: bytes) -> None:
    design, methods = Design(vendors=2), [GlobalMean()]
    before = compare(ratings, design, methods, MeasurementCache(tmp_path)).to_json()
    for path in tmp_path.iterdir():
        path.write_bytes(damage)
    assert compare(ratings, design, methods, MeasurementCache(tmp_path)).to_json() == before


def test_whatever_a_measurement_depends_on_is_in_its_key(ratings: Ratings, tmp_path: Path) -> None:
    def files(design: Design, model: GibbsMF, data: Ratings) -> int:
        compare(data, design, [Local(model)], MeasurementCache(tmp_path))
        return len(list(tmp_path.iterdir()))

    base = Design(vendors=2)
    assert files(base, TINY, ratings) == 2
    assert files(base, TINY, ratings) == 2
    assert files(replace(base, seed=1), TINY, ratings) == 4
    assert files(base, replace(TINY, iterations=7), ratings) == 6
    other = replace(ratings, value=np.where(np.arange(len(ratings)) == 0, 3, ratings.value).astype(np.float32))
    assert fingerprint(other) != fingerprint(ratings) or (other.value == ratings.value).all()
    assert files(base, TINY, replace(ratings, scale=(0.5, 5.0))) == 8
    assert files(replace(base, folds=2), TINY, ratings) == 12


# --- who may take part


def test_all_methods_take_part_horizontally(ratings: Ratings) -> None:
    methods, refused = make_methods(list(METHODS), [5.0], Setting(Distribution.HORIZONTAL, 3))
    assert not refused
    assert [method.name for method in methods] == list(METHODS)
    found = compare(ratings, Design(vendors=3, reported=1), methods, MeasurementCache(), model=TINY)
    assert all(0.3 < each.rmse.mean() < 2 for each in found.results)


@pytest.mark.parametrize("distribution", [Distribution.VERTICAL, Distribution.ARBITRARY])
def test_privacy_of_users_is_refused_where_users_are_shared(ratings: Ratings, distribution: Distribution) -> None:
    methods, refused = make_methods(list(METHODS), [5.0], Setting(distribution, 3))
    names = {each.method for each in refused}
    assert {"dpals", "liu", "sharing"} <= names
    assert ("fmf" in names) == (distribution is Distribution.ARBITRARY)
    assert all("user-level" in each.reason or each.method == "fmf" for each in refused)
    guarantees = [method.guarantee(3) for method in methods]
    assert all(guarantee.unit is not Unit.USER for guarantee in guarantees if guarantee is not None)
    design = Design(vendors=3, reported=1, distribution=distribution)
    found = compare(ratings, design, methods, MeasurementCache(), refused, model=TINY)
    assert [each.method for each in found.results] == [name for name in METHODS if name not in names]
    assert "Refused: sharing" in markdown_table(found)


def test_an_epsilon_that_a_method_cannot_have_is_refused_for_it_alone() -> None:
    methods, refused = make_methods(["dpals", "sharing"], [5.0, 1000.0], Setting(Distribution.HORIZONTAL, 3))
    assert [(method.name, method.epsilon) for method in methods] == [
        ("local", None),
        ("dpals", 5.0),
        ("dpals", 1000.0),
        ("sharing", 5.0),
    ]
    assert [(each.method, each.epsilon) for each in refused] == [("sharing", 1000.0)]
    with pytest.raises(DiscreetError, match="no vendors' method is called 'magic'; there are local, full"):
        make_methods(["magic"], [1.0], Setting(Distribution.HORIZONTAL, 3))


# --- figures and words


@given(arrays(np.float64, (3, 5), elements=st.floats(0.5, 2)), st.floats(-1, 1))
def test_standard_error_ignores_what_all_have_in_common(values, shift) -> None:
    found, moved = mean_over_vendors(values), mean_over_vendors(values + shift)
    assert moved.mean == pytest.approx(found.mean + shift)
    assert moved.se == pytest.approx(found.se, abs=1e-9)


def test_standard_error_by_hand() -> None:
    assert mean_over_vendors(np.array([[1.0, 3.0]])).se == pytest.approx(1.0)
    repeated = mean_over_vendors(np.array([[1.0, 3.0], [1.0, 3.0]]))
    assert repeated.se == pytest.approx(1.0), "dealing out the same users again makes nothing surer"
    assert mean_over_vendors(np.array([[1.0, 3.0], [2.0, 4.0]])).se == pytest.approx(np.sqrt(1 + 0.25))
    assert np.isnan(mean_over_vendors(np.array([[1.0]])).se)


def test_gain_gap_and_vendors_gaining_by_hand() -> None:
    local, full = result("local", [[1.0, 0.9]]), result("full", [[0.8, 0.7]])
    sharing = result("sharing", [[0.9, 0.92]], 5.0)
    found = compared(local, full, sharing)
    assert found.gain(sharing).mean == pytest.approx(0.04)
    assert found.gain(sharing).se == pytest.approx(0.06)
    assert found.gap_closed(sharing) == pytest.approx(0.2)
    assert found.gap_closed(full) == pytest.approx(1)
    assert found.gaining(sharing) == 1
    told = found.to_json()["methods"]
    assert told[0]["gain"] == {"mean": 0.0, "se": 0.0}
    assert told[2]["vendors_gaining"] == 1
    assert compared(local, sharing).gap_closed(sharing) is None
    assert compared(local, result("full", [[1.1, 1.0]]), sharing).gap_closed(sharing) is None


def test_verdict_says_from_which_epsilon_it_pays_and_for_how_many() -> None:
    local, full = result("local", [[1.0, 0.9, 0.95]]), result("full", [[0.8, 0.7, 0.76]])
    weak, strong = result("sharing", [[0.9, 0.8, 0.86]], 5.0), result("sharing", [[1.0, 0.91, 0.94]], 1.0)
    words = " ".join(compared(local, full, strong, weak).verdict())
    assert "There is a reason to collaborate: sharing pays from ε = 5 per user" in words
    assert "3 of 3 vendors gain" in words
    assert "no rating" in words


def test_verdict_tells_small_vendors_from_large_ones() -> None:
    local, sharing = result("local", [[1.0, 1.0, 1.0, 1.0]]), result("sharing", [[0.8, 0.9, 0.79, 0.9]], 5.0)
    tested = np.array([1.0, 9, 1, 9])[None, None, :, None] * local.tested
    local, sharing = (replace(each, tested=tested, squared=each.squared * tested) for each in (local, sharing))
    words = " ".join(compared(local, sharing).verdict())
    assert "The smaller half of them gains +0.2050, the larger +0.1000" in words


def test_verdict_says_when_there_is_no_reason() -> None:
    local, full = result("local", [[1.0, 0.9, 0.95]]), result("full", [[0.8, 0.7, 0.76]])
    harm = result("dpals", [[1.2, 1.1, 1.16]], 1.0)
    words = " ".join(compared(local, full, harm).verdict())
    assert "There is no reason to collaborate" in words
    assert "Worse than alone at every ε that was tried: dpals" in words
    assert "No private method was measured" in " ".join(compared(local, full).verdict())


def test_verdict_of_a_few_vendors_who_all_gain_is_that_they_are_too_few() -> None:
    local, full = result("local", [[1.0, 0.9, 0.95]]), result("full", [[0.9, 0.89, 0.7]])
    sharing = result("sharing", [[0.9, 0.898, 0.949]], 5.0)
    found = compared(local, full, sharing)
    words = " ".join(found.verdict())
    assert "Too few vendors to tell: 3 of 3 vendors gain with sharing, ε 5" in words
    assert "too few vendors to tell whether that is less" in words
    assert "no reason" not in words
    many = compared(result("local", [[1.0, 0.9] * 4]), result("sharing", [[0.9, 1.0] * 4], 5.0))
    assert "There is no reason to collaborate" in " ".join(many.verdict())


def test_one_vendor_has_no_standard_error_and_no_nan() -> None:
    found = compared(result("local", [[1.0]]), result("full", [[0.9]]), result("sharing", [[0.95]], 5.0))
    told = " ".join(found.verdict()) + markdown_table(found)
    assert "nan" not in told
    assert "1.0000 |" in told
    assert "Too few vendors to tell: 1 of 1 vendors gain with sharing, ε 5 (+0.0500)" in told


def test_report_has_verdict_guarantees_and_refusals(ratings: Ratings) -> None:
    local, full = result("local", [[1.0, 0.9]]), result("full", [[0.8, 0.7]])
    found = compared(local, full, result("sharing", [[0.9, 0.8]], 5.0))
    _, refused = make_methods(["sharing"], [5.0], Setting(Distribution.VERTICAL, 3))
    page = html_report(replace(found, ratings="<ratings>", refused=refused), {"rmse": "<svg></svg>"}, "discreet …")
    assert "&lt;ratings&gt;" in page
    assert "adding or removing any one user changes" in page
    assert "user-level privacy cannot be had in the vertical distribution" in page
    assert str(escape(found.verdict()[0])) in page
    assert "http" not in page.replace("http://www.w3.org", "")


def test_few_vendors_must_agree_more_before_a_gain_is_called_clear() -> None:
    def clearly(gains: list[float]) -> int:
        found = compared(
            result("local", [[1.0] * len(gains)]), result("sharing", [[1.0 - gain for gain in gains]], 5.0)
        )
        return found.clearly(found.results[1])

    assert clearly([0.01, 0.03, 0.02]) == 0, "3.5 standard errors, but of three vendors"
    assert clearly([0.01, 0.03, 0.02] * 4) == 1
    assert clearly([-0.01, -0.03, -0.02] * 4) == -1
    assert clearly([0.02]) == 0
