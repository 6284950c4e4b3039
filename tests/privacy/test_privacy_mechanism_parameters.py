"""Bad parameters and bad values get a clear error before a single random byte is drawn."""

import math

import numpy as np
import pytest
from dp_accounting import DpEvent

from discreet.privacy.guarantee import Adjacency, Status, Unit
from discreet.privacy.mechanisms import (
    MECHANISMS,
    AnalyticGaussian,
    ClippedAttention,
    ClippedMean,
    DiscreteGaussian,
    DiscreteLaplace,
    DPAverage,
    DPItemAverages,
    Exponential,
    FloatNoise,
    LabelPermutation,
    Laplace,
    LevelBits,
    RandomizedResponse,
    RandomPadding,
    SubsetSelection,
    TopicCounts,
    private_attention,
)
from discreet.privacy.noise import SecureNoise, SimulatedNoise

ATTENTION = ClippedAttention(epsilon=1.0, dimension=3)

GOOD = {
    Laplace: ({"epsilon": 1.0, "l1": 1.0, "dimension": 2}, [0.0, 1.0]),
    AnalyticGaussian: ({"epsilon": 1.0, "delta": 1e-5, "l2": 1.0, "dimension": 2}, [0.0, 1.0]),
    DiscreteLaplace: ({"epsilon": 1.0, "l1": 1.0, "dimension": 2}, [0.0, 1.0]),
    DiscreteGaussian: ({"epsilon": 1.0, "delta": 1e-5, "l2": 1.0, "dimension": 2}, [0.0, 1.0]),
    FloatNoise: ({"epsilon": 1.0, "noise_sensitivity": 1.0, "dimension": 2}, [0.0, 1.0]),
    ClippedAttention: ({"epsilon": 1.0, "theta": 1.0, "dimension": 3}, [0.2, 0.3, 0.5]),
    ClippedMean: ({"epsilon": 1.0, "theta": 1.0, "dimension": 2, "history_length": 2}, [[3.0, 4.0], [0.1, 0.1]]),
    TopicCounts: ({"epsilon": 1.0, "topics": 3}, [0, 2, 2]),
    RandomizedResponse: ({"epsilon": 1.0, "choices": 4}, 3),
    SubsetSelection: ({"epsilon": 1.0, "choices": 4}, 3),
    LevelBits: ({"epsilon": 1.0, "features": 2, "levels": 3}, [0, 2]),
    Exponential: ({"epsilon": 1.0, "choices": 3, "score_sensitivity": 1.0}, [0.0, 1.0, 2.0]),
    LabelPermutation: ({"epsilon": 1.0, "choices": 5, "negatives": 2}, 3),
    RandomPadding: (
        {"inner": ATTENTION, "padding": 0.5, "history_length": 4},
        lambda mask: np.array([0.2, 0.3, 0.5]) if mask.any() else np.array([1.0, 0.0, 0.0]),
    ),
    DPAverage: ({"epsilon": 1.0, "lowest": 1, "highest": 5}, [1.0, 5.0, 3.0]),
    DPItemAverages: ({"epsilon": 1.0, "lowest": 1, "highest": 5, "items": 3}, (np.array([0, 2]), [1.0, 5.0])),
}
FLOATING = (Laplace, AnalyticGaussian, FloatNoise)

BAD_NUMBERS = [0, -1.0, math.nan, math.inf]
BAD_PARAMETERS = [
    *((kind, {"epsilon": bad}) for kind in GOOD if kind is not RandomPadding for bad in BAD_NUMBERS),
    *((kind, {"delta": bad}) for kind in (AnalyticGaussian, DiscreteGaussian) for bad in (0, 1, 1.5, -0.1, math.nan)),
    *(
        (kind, {"delta": bad})
        for kind in (FloatNoise, ClippedAttention, ClippedMean, TopicCounts)
        for bad in (1, -0.1, math.nan)
    ),
    (DiscreteLaplace, {"delta": 1e-5}),
    *((kind, {name: bad}) for kind, name in ((Laplace, "l1"), (DiscreteLaplace, "l1")) for bad in BAD_NUMBERS),
    *((kind, {"l2": bad}) for kind in (AnalyticGaussian, DiscreteGaussian) for bad in BAD_NUMBERS),
    *((kind, {"theta": bad}) for kind in (ClippedAttention, ClippedMean) for bad in BAD_NUMBERS),
    *((LevelBits, {name: bad}) for name in ("features", "levels") for bad in (0, -1, 2.5)),
    *((kind, {"choices": bad}) for kind in (RandomizedResponse, SubsetSelection, Exponential) for bad in (1, 0, 2.5)),
    *(
        (kind, {"dimension": bad})
        for kind in (Laplace, DiscreteLaplace, DiscreteGaussian, ClippedMean)
        for bad in (0, 1.5)
    ),
    (ClippedAttention, {"dimension": 1}),
    *((kind, {"grid": bad}) for kind in (DiscreteLaplace, DiscreteGaussian) for bad in (0.3, -1.0, 0.0, math.inf)),
    *((kind, {"calibration": "guess"}) for kind in (DiscreteLaplace, ClippedAttention)),
    *((kind, {"calibration": "paper"}) for kind in (DiscreteLaplace, DiscreteGaussian, TopicCounts, ClippedMean)),
    (TopicCounts, {"topics": 1}),
    *((TopicCounts, {"unit": unit}) for unit in (Unit.USER, Unit.CLICKS)),
    *((kind, {"unit": Unit.USER, "adjacency": Adjacency.ADD_REMOVE}) for kind in (ClippedAttention, ClippedMean)),
    (ClippedMean, {"history_length": 0}),
    (Exponential, {"score_sensitivity": 0}),
    (LabelPermutation, {"negatives": 0}),
    (LabelPermutation, {"negatives": 5}),
    *((RandomPadding, {"padding": bad}) for bad in (1.0, -0.1, math.nan)),
    (RandomPadding, {"history_length": 0}),
    (RandomPadding, {"unit": Unit.USER}),
    (RandomPadding, {"adjacency": Adjacency.ADD_REMOVE}),
    (RandomPadding, {"inner": DiscreteLaplace(epsilon=1.0, l1=1.0)}),
    (RandomPadding, {"inner": TopicCounts(epsilon=1.0, topics=3)}),
    (RandomPadding, {"inner": ClippedAttention(epsilon=1.0, dimension=3, unit=Unit.USER)}),
    *((kind, {"lowest": 5}) for kind in (DPAverage, DPItemAverages)),
    (DPAverage, {"highest": math.nan}),
    (DPAverage, {"step": 0}),
    (DPAverage, {"step": 100}),
    (DPAverage, {"unit": Unit.CLICK}),
    (DPAverage, {"unit": Unit.USER}),
    (DPAverage, {"unit": Unit.RATING_VALUE}),
    (DPItemAverages, {"items": 0}),
]


@pytest.mark.parametrize(("kind", "change"), BAD_PARAMETERS)
def test_bad_parameters(kind, change):
    with pytest.raises(ValueError, match=r"\w"):
        kind(**{**GOOD[kind][0], **change})


BAD_VECTORS = [[0.2, math.nan], [0.2, math.inf], [0.2], [0.2, 0.3, 0.5, 0.0], [[0.5, 0.5]], 3.0]
BAD_VALUES = [
    *(
        (kind, bad)
        for kind in (Laplace, AnalyticGaussian, DiscreteLaplace, DiscreteGaussian, FloatNoise)
        for bad in BAD_VECTORS
    ),
    (DiscreteLaplace, [1e300, 0.0]),
    *(
        (ClippedAttention, bad)
        for bad in ([0.5, 0.5], [0.5, 0.4, math.nan], [0.5, 0.6, -0.1], [0.5, 0.5, 0.5], [0.0, 0.0, 0.0])
    ),
    *(
        (ClippedMean, bad)
        for bad in (
            [[1.0, 2.0]],
            [1.0, 2.0],
            [[1.0], [2.0]],
            [[1.0, math.nan], [0.0, 0.0]],
            [[math.inf, 0.0], [0.0, 0.0]],
        )
    ),
    *((TopicCounts, bad) for bad in ([3], [-1], [0.5], [[0, 1]], 1, ["a"])),
    *((kind, bad) for kind in (RandomizedResponse, SubsetSelection) for bad in (-1, 4, 1.5, True, "0", None)),
    *((LevelBits, bad) for bad in ([0], [0, 3], [-1, 0], [0.5, 1], [[0, 1]], 1, ["a", "b"])),
    *((LabelPermutation, bad) for bad in (-1, 5, 1.5)),
    *((Exponential, bad) for bad in ([0.0, 1.0], [0.0, 1.0, math.nan], [0.0, 1.0, math.inf])),
    (RandomPadding, [0.2, 0.3, 0.5]),
    *((DPAverage, bad) for bad in ([1.0, math.nan], [[1.0], [2.0]])),
    *(
        (DPItemAverages, bad)
        for bad in (
            [1.0, 2.0],
            (np.array([0]), [1.0, 2.0]),
            (np.array([3]), [1.0]),
            (np.array([-1]), [1.0]),
            (np.array([0.5]), [1.0]),
            (np.array([0]), [math.nan]),
        )
    ),
]


class NoRandomness(SimulatedNoise):
    def __init__(self):
        super().__init__(0)

    def random_bytes(self, count):
        raise AssertionError("sampled before the value was checked")


@pytest.mark.parametrize(("kind", "value"), BAD_VALUES)
def test_bad_values_are_refused_before_anything_is_sampled(kind, value):
    with pytest.raises(ValueError, match=r"\w"):
        kind(**GOOD[kind][0]).release(value, NoRandomness())


def test_padding_checks_the_value_made_from_the_mask():
    mechanism = RandomPadding(**GOOD[RandomPadding][0])
    with pytest.raises(ValueError, match="simplex"):
        mechanism.release(lambda _mask: [1.0, 1.0, 1.0], SecureNoise())


def test_padding_needs_a_public_history_length():
    with pytest.raises(ValueError, match="history_length"):
        private_attention(epsilon=1.0, dimension=3, padding=0.5)


def test_of_a_user_the_first_ratings_count_and_nobody_is_refused_for_having_more():
    fields = {"epsilon": 1.0, "lowest": 1, "highest": 5, "unit": Unit.USER, "ratings_per_user": 2}
    mechanism = DPAverage(**fields)
    many, few = ([1.0, 4.0, 2.0, 3.0], ["a", "b", "a", "a"]), ([1.0, 4.0, 2.0], ["a", "b", "a"])
    assert mechanism.checked(many).tolist() == mechanism.checked(few).tolist()
    assert mechanism.release(many, SecureNoise())
    items = DPItemAverages(**fields, items=2)
    for found, wanted in zip(items.checked(([0, 1, 0, 1], *many)), items.checked(([0, 1, 0], *few)), strict=True):
        assert found.tolist() == wanted.tolist()
    with pytest.raises(ValueError, match="user of each rating"):
        mechanism.release([1.0, 2.0], NoRandomness())


def test_every_mechanism_is_registered_and_tested_here():
    assert {MECHANISMS[name] for name in MECHANISMS} == set(GOOD)
    assert all(MECHANISMS[kind.name] is kind and "\n" not in kind.summary for kind in GOOD)


@pytest.mark.parametrize("kind", GOOD)
def test_every_mechanism_states_its_theorem_and_releases(kind):
    parameters, value = GOOD[kind]
    mechanism = kind(**parameters)
    theorem = mechanism.theorem
    assert theorem.statement
    assert (theorem.unit, theorem.adjacency) == (mechanism.guarantee().unit, mechanism.guarantee().adjacency)
    assert theorem.sensitivity == mechanism.sensitivity
    assert isinstance(mechanism.event(), DpEvent)
    simulated = mechanism.release(value, SimulatedNoise(1))
    assert np.isfinite(simulated.values).all()
    if kind not in FLOATING:
        released = mechanism.release(value, SecureNoise())
        assert released.guarantee == simulated.guarantee == mechanism.guarantee()
        assert released.values.shape == simulated.values.shape


@pytest.mark.parametrize("kind", GOOD)
def test_only_what_is_known_to_be_false_is_called_claimed(kind):
    status = kind(**GOOD[kind][0]).guarantee().status
    assert (status is Status.CLAIMED) == (kind in (FloatNoise, LabelPermutation))


@pytest.mark.parametrize("terms", [{"unit": Unit.USER}, {"unit": Unit.CLICKS}, {"adjacency": Adjacency.ADD_REMOVE}])
def test_one_click_of_many_is_not_a_user_and_is_not_left_out(terms):
    kind, fields = ClippedMean, GOOD[ClippedMean][0]
    with pytest.raises(ValueError, match="is proved for"):
        kind(**fields, **terms)
    assert kind(**{**fields, "history_length": 1}, unit=Unit.USER).guarantee().unit is Unit.USER
