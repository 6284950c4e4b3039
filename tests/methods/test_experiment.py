"""Which methods a comparison runs, with which settings."""

import math

import pytest

from discreet.errors import DiscreetError
from discreet.methods.experiment import variants


def test_a_setting_goes_to_those_that_have_it_and_a_named_one_to_one_method():
    fedrec, private, content = variants(
        ["fedrec", "privaterec", "content"], {"rounds": 7, "rate": 0.5, "privaterec.rate": 0.1, "basis": 5}, []
    )
    assert (fedrec.rounds, fedrec.rate) == (7, 0.5)
    assert (private.rounds, private.rate, private.basis) == (7, 0.1, 5)
    assert content.name == "content"


def test_a_method_with_a_budget_stands_once_for_each():
    made = list(variants(["content", "privaterec"], {}, [1.0, math.inf]))
    assert [(method.name, method.epsilon) for method in made] == [
        ("content", None),
        ("privaterec", 1.0),
        ("privaterec", math.inf),
    ]


@pytest.mark.parametrize("setting", ["colour", "fedrec.colour", "content.rate"])
def test_a_setting_that_nobody_has_is_refused(setting):
    with pytest.raises(DiscreetError, match=setting):
        list(variants(["fedrec", "content"], {setting: 1}, []))
