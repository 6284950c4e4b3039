"""Guarantees say everything, survive JSON, and refuse nonsense."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit, shown_epsilon

EPSILONS = st.one_of(st.floats(0, 1e6), st.just(math.inf))


@st.composite
def guarantees(draw):
    claim = draw(st.none() | EPSILONS)
    return Guarantee(
        epsilon=draw(EPSILONS),
        delta=draw(st.floats(0, 1, exclude_max=True)),
        unit=draw(st.sampled_from(Unit)),
        adjacency=draw(st.sampled_from(Adjacency)),
        adversary=draw(st.sampled_from(Adversary)),
        scope=draw(st.sampled_from(Scope)),
        status=Status.PROVED if claim is None else Status.CLAIMED,
        mechanism=draw(st.text("abcε +", max_size=20)),
        version=draw(st.integers(0, 1000)),
        claimed_epsilon=claim,
    )


@given(guarantees())
def test_json_round_trip(guarantee):
    text = json.dumps(guarantee.to_json(), allow_nan=False)
    assert Guarantee.from_json(json.loads(text)) == guarantee


def example(**changes):
    fields = {
        "epsilon": 1.0,
        "delta": 0.0,
        "unit": Unit.CLICK,
        "adjacency": Adjacency.SUBSTITUTE,
        "adversary": Adversary.SERVER,
        "scope": Scope.RELEASE,
        "status": Status.PROVED,
        "mechanism": "example",
    }
    return Guarantee(**{**fields, **changes})


def test_says_everything_in_one_line():
    said = str(example(status=Status.CLAIMED, epsilon=math.inf, claimed_epsilon=10.0, delta=1e-5))
    for part in (
        "claimed ε = 10",
        "true ε = ∞",
        "δ = 1e-05",
        "click",
        "substitute",
        "server",
        "one release",
        "example v1",
    ):
        assert part in said


@pytest.mark.parametrize(
    "changes",
    [
        {"epsilon": -1.0},
        {"epsilon": math.nan},
        {"delta": 1.0},
        {"delta": -0.1},
        {"delta": math.nan},
        {"status": Status.CLAIMED},
        {"claimed_epsilon": 1.0},
    ],
)
def test_nonsense_is_refused(changes):
    with pytest.raises(ValueError, match=r"epsilon|delta"):
        example(**changes)


@pytest.mark.parametrize(
    ("epsilon", "shown"),
    [
        (1.0, "1"),
        (1.00004, "1.001"),
        (0.1 + 0.2, "0.3"),
        (1 + 1e-13, "1.001"),
        (20.2199, "20.22"),
        (123456.0, "1.235e+05"),
        (math.inf, "∞"),
    ],
)
def test_an_epsilon_is_never_shown_below_the_truth(epsilon, shown):
    assert shown_epsilon(epsilon) == shown
