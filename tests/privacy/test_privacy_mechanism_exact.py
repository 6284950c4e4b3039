"""Exact distributions of the shipped code: every output's probability, compared between neighbours."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.audits.paths import exact_distribution
from discreet.privacy.guarantee import Unit
from discreet.privacy.mechanisms import (
    ClippedAttention,
    ClippedMean,
    DPAverage,
    DPItemAverages,
    Exponential,
    LabelPermutation,
    LevelBits,
    RandomizedResponse,
    RandomPadding,
    SubsetSelection,
    padded_epsilon,
    unpadded_epsilon,
)
from discreet.privacy.mechanisms.choice import ONE, exp_weight
from discreet.privacy.noise import SimulatedNoise


def law(mechanism, value):
    """The probability of each payload, following every path of the mechanism's own code."""
    checked = mechanism.checked(value)
    return exact_distribution(lambda noise: tuple(mechanism.sample(checked, noise).integers.tolist()))


def worst_ratio(laws):
    outputs = set().union(*laws)
    return max(a.get(z, 0) / b[z] if b.get(z) else math.inf for a in laws for b in laws for z in outputs if a.get(z))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("choices", [2, 3, 5])
def test_randomized_response(epsilon, choices):
    mechanism = RandomizedResponse(epsilon=epsilon, choices=choices)
    laws = [law(mechanism, x) for x in range(choices)]
    assert all(sum(one.values()) == 1 for one in laws)
    assert all(laws[x][(x,)] == mechanism.keep for x in range(choices))
    assert worst_ratio(laws) == Fraction(exp_weight(epsilon), ONE)
    assert math.exp(epsilon) * (1 - 1e-9) < worst_ratio(laws) <= math.exp(epsilon) * (1 + 1e-15)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_level_bits(epsilon):
    mechanism = LevelBits(epsilon=epsilon, features=2, levels=3)
    inputs = list(product(range(3), repeat=2))
    laws = [law(mechanism, np.array(levels)) for levels in inputs]
    assert all(sum(one.values()) == 1 and len(one) == 2**6 for one in laws)
    ratio = Fraction(exp_weight(epsilon / 2), ONE)
    assert worst_ratio(laws) == ratio**4
    assert ratio**4 <= math.exp(mechanism.guarantee().epsilon) * (1 + 1e-15)
    one_feature = [one for one, levels in zip(laws, inputs, strict=True) if levels[1] == 0]
    assert worst_ratio(one_feature) == ratio**2


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("choices", [2, 4, 5])
def test_subset_selection(epsilon, choices):
    mechanism = SubsetSelection(epsilon=epsilon, choices=choices)
    laws = [law(mechanism, x) for x in range(choices)]
    assert all(set(one) == set(combinations(range(choices), mechanism.subset_size)) for one in laws)
    assert all(sum(p for z, p in laws[x].items() if x in z) == mechanism.inclusion for x in range(choices))
    assert worst_ratio(laws) == Fraction(exp_weight(epsilon), ONE)


def test_subset_likelihood_is_the_law_of_the_report():
    mechanism = SubsetSelection(epsilon=1.0, choices=4)
    belief = np.array([0.1, 0.2, 0.3, 0.4])
    laws = [law(mechanism, x) for x in range(4)]
    reports = sorted(laws[0])
    truth = np.array([sum(belief[x] * float(laws[x][z]) for x in range(4)) for z in reports])
    stated = np.exp(mechanism.log_likelihood([belief[list(z)].sum() for z in reports]))
    assert stated / stated.sum() == pytest.approx(truth, rel=1e-9)


def test_exponential_samples_by_its_weights():
    mechanism = Exponential(epsilon=2.0, choices=3, score_sensitivity=1.0)
    scores = [0.0, 1 / 64, 2 / 64]
    weights = mechanism.weights(mechanism.checked(scores))
    assert law(mechanism, scores) == {(i,): Fraction(w, sum(weights)) for i, w in enumerate(weights)}
    ideal = np.exp(np.array(scores) * 64 / 65)
    assert [w / sum(weights) for w in weights] == pytest.approx(ideal / ideal.sum(), rel=1e-9)


@given(
    st.lists(st.floats(-3, 3), min_size=4, max_size=4),
    st.lists(st.sampled_from([-0.5, 0.2, 0.5]), min_size=4, max_size=4),
)
@settings(max_examples=50, deadline=None)
def test_exponential_never_exceeds_epsilon(scores, moves):
    scores = [round(score * 2**20) / 2**20 for score in scores]
    mechanism = Exponential(epsilon=1.0, choices=4, score_sensitivity=0.5)
    a = mechanism.weights(mechanism.checked(scores))
    b = mechanism.weights(mechanism.checked([s + m for s, m in zip(scores, moves, strict=True)]))
    ratios = [Fraction(x * sum(b), y * sum(a)) for x, y in zip(a, b, strict=True)]
    assert max(*ratios, *(1 / r for r in ratios)) <= Fraction(math.exp(1.0))


def exponential_logs(mechanism, scores):
    """The logarithms of all probabilities, from whole numbers too long for a quick fraction."""
    weights = mechanism.weights(mechanism.checked(scores))
    return np.array([math.log(weight) for weight in weights]) - math.log(sum(weights))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize(("low", "high"), [(0.0, 0.1), (0.3, 0.4), (0.7, 0.8), (1e6 + 0.3, 1e6 + 0.4)])
def test_exponential_pays_for_the_rounding_of_float_scores(epsilon, low, high):
    mechanism = Exponential(epsilon=epsilon, choices=1000, score_sensitivity=0.1)
    a, b = (exponential_logs(mechanism, [one] + [other] * 999) for one, other in ((low, high), (high, low)))
    assert 0.95 * epsilon < np.abs(a - b).max() <= epsilon * (1 + 1e-9)


def test_exponential_refuses_no_score_for_its_size():
    mechanism = Exponential(epsilon=1.0, choices=3, score_sensitivity=1.0)
    laws = [exponential_logs(mechanism, [0.0, best - 300.0, best]) for best in (599.0, 599.5, 600.0)]
    assert max(np.abs(a - b).max() for a in laws for b in laws) <= 1
    assert laws[0][0] == laws[0][1]


def test_published_labels_reveal_the_click():
    mechanism = LabelPermutation(epsilon=1.0, choices=4, negatives=2)
    laws = [law(mechanism, x) for x in range(4)]
    assert worst_ratio(laws) == math.inf
    assert all(x in z[1:] for x in range(4) for z in laws[x])
    labels = [{c: sum(p for z, p in one.items() if z[0] == c) for c in range(4)} for one in laws]
    assert float(worst_ratio(labels)) == pytest.approx(math.exp(mechanism.label_epsilon), rel=1e-9)


def test_published_labels_that_show_everything_are_randomized_response():
    mechanism = LabelPermutation(epsilon=1.0, choices=3, negatives=2)
    laws = [law(mechanism, x) for x in range(3)]
    assert float(worst_ratio(laws)) == pytest.approx(math.e, rel=1e-9)


@pytest.mark.parametrize("padding", [0.25, 0.5])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_padding_amplifies_as_stated_and_no_more(padding, epsilon):
    """Histories of two clicks out of three articles, summed up by functions of the masked history."""
    inner = RandomizedResponse(epsilon=epsilon, choices=3)
    mechanism = RandomPadding(inner=inner, padding=padding, history_length=2)
    bound = Fraction(padding) + (1 - Fraction(padding)) * Fraction(exp_weight(epsilon), ONE)
    assert mechanism.guarantee().epsilon == pytest.approx(math.log(bound))
    inner_laws = [law(inner, x) for x in range(3)]
    padded = 2

    def padded_law(summary, history):
        total = {}
        for mask in product((False, True), repeat=2):
            chance = math.prod(Fraction(padding) if masked else 1 - Fraction(padding) for masked in mask)
            seen = [padded if masked else click for masked, click in zip(mask, history, strict=True)]
            for output, probability in inner_laws[summary(seen)].items():
                total[output] = total.get(output, 0) + chance * probability
        return total

    def first(seen):
        return seen[0]

    for summary in (first, max, min, lambda seen: sum(seen) % 3):
        for other in range(3):
            assert worst_ratio([padded_law(summary, (click, other)) for click in range(3)]) <= bound
    assert worst_ratio([padded_law(first, (click, 0)) for click in (0, padded)]) == bound
    if padding == 0.5:
        shipped = law(
            RandomPadding(inner=inner, padding=padding, history_length=1), lambda mask: padded if mask[0] else 0
        )
        assert shipped == padded_law(first, (0, 0))


@given(st.floats(0.001, 600), st.floats(0, 0.99))
def test_padding_formulas_are_inverse(epsilon, padding):
    assert padded_epsilon(unpadded_epsilon(epsilon, padding), padding) == pytest.approx(epsilon, rel=1e-9)
    assert unpadded_epsilon(epsilon, padding) >= epsilon


@pytest.mark.parametrize(
    ("scale", "shifts"), [(0.7, (1, 1)), (2.0, (2, 3)), (5.0, (1, 4)), (3.0, (1, 1, 2)), (10.0, (6, 6))]
)
def test_noise_on_several_coordinates_loses_no_more_than_on_one(scale, shifts):
    """The hockey-stick divergence of a shift spread over coordinates is below that of the whole shift on one."""

    def losses(shift):
        x = np.arange(-int(40 * scale), shift + int(40 * scale) + 1)
        mass = np.exp(-np.abs(x) / scale)
        return (np.abs(x - shift) - np.abs(x)), mass / mass.sum()

    def law_of_loss(parts):
        total = {0: 1.0}
        for shift in parts:
            loss, mass = losses(shift)
            single = {int(v): mass[loss == v].sum() for v in np.unique(loss)}
            merged = {}
            for a, p in total.items():
                for b, q in single.items():
                    merged[a + b] = merged.get(a + b, 0.0) + p * q
            total = merged
        return total

    def divergence(law_, epsilon):
        return sum(p * max(0.0, 1 - math.exp(epsilon - loss / scale)) for loss, p in law_.items())

    spread, whole = law_of_loss(shifts), law_of_loss((sum(shifts),))
    for epsilon in np.linspace(-sum(shifts) / scale, sum(shifts) / scale, 41):
        assert divergence(spread, epsilon) <= divergence(whole, epsilon) + 1e-12


class RecordedNoise(SimulatedNoise):
    """Zero noise, with the scales that were asked for."""

    def __init__(self):
        super().__init__(0)
        self.scales = []

    def discrete_laplace(self, scale, size):
        self.scales.append(scale)
        return np.zeros(size, np.int64)


def test_average_by_the_published_scales():
    mechanism = DPAverage(epsilon=0.5, lowest=1, highest=5)
    noise = RecordedNoise()
    released = mechanism.release([1.0, 2.0, 5.0, 4.5], noise)
    assert mechanism.average(released) == pytest.approx(3.125)
    assert [float(s) for s in noise.scales] == pytest.approx([4 / 0.5 / mechanism.step, 2 / 0.5])


def test_average_of_hardly_anything_is_the_middle():
    mechanism = DPAverage(epsilon=0.5, lowest=1, highest=5)
    assert mechanism.average(mechanism.release([5.0], RecordedNoise())) == 3.0


def test_ratings_outside_the_range_count_as_its_ends():
    mechanism = DPAverage(epsilon=0.5, lowest=1, highest=5)
    assert mechanism.average(mechanism.release([500.0, 5.0], RecordedNoise())) == 5.0


def test_item_averages_fill_empty_items_and_share_epsilon():
    mechanism = DPItemAverages(epsilon=0.5, lowest=1, highest=5, items=3)
    noise = RecordedNoise()
    released = mechanism.release((np.array([0, 0, 2, 2]), [1.0, 2.0, 5.0, 4.0]), noise)
    assert mechanism.global_average(released) == pytest.approx(3.0)
    assert mechanism.item_averages(released).tolist() == pytest.approx([1.5, 3.0, 4.5])
    epsilons = [4 / mechanism.step / float(noise.scales[0]), 4 / mechanism.step / float(noise.scales[2])]
    assert epsilons == pytest.approx([0.005, 0.495])


def test_item_sums_of_neighbours_differ_by_the_range_at_most():
    """An item with one rating against none, whose place the clamped global average takes."""
    mechanism = DPItemAverages(epsilon=0.01, lowest=1, highest=5, items=2)
    for seed in range(200):
        one, none = (
            mechanism.sample(mechanism.checked(value), SimulatedNoise(seed)).integers
            for value in ((np.array([0, 1]), [5.0, 5.0]), (np.array([0]), [5.0]))
        )
        moved = np.abs(one - none)
        assert moved[0] <= mechanism.reach
        assert moved[3] <= 2 * mechanism.reach
        assert moved[[2, 4, 5]].tolist() == [0, 0, 0]


def test_items_nobody_rated_are_the_same_whoever_rates_them():
    mechanism = DPItemAverages(epsilon=1.0, lowest=1, highest=5, items=2, unit=Unit.RATING)
    released = mechanism.release((np.array([], np.int64), []), SimulatedNoise(1))
    assert ((mechanism.item_averages(released) >= 1) & (mechanism.item_averages(released) <= 5)).all()


@pytest.mark.parametrize("epsilon", [1e-20, 1e-17, 1e-13, 1e-9])
def test_a_tiny_epsilon_is_not_exceeded(epsilon):
    laws = [law(RandomizedResponse(epsilon=epsilon, choices=3), x) for x in range(3)]
    assert 1 <= worst_ratio(laws) <= 1 + Fraction(epsilon) + Fraction(epsilon) ** 2


def test_a_tiny_bound_still_clips():
    theta = 1e-170
    mean = ClippedMean(epsilon=1.0, theta=theta, dimension=2)
    attention = ClippedAttention(epsilon=1.0, theta=theta, dimension=2)
    for mechanism, value in ((mean, [[1e5 * theta, 1e5 * theta]]), (mean, [[1e300, 0.0]]), (attention, [0.5, 0.5])):
        steps = mechanism.checked(value)
        assert math.hypot(*steps.tolist()) <= theta / mechanism.step
