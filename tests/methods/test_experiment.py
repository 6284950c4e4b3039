"""Which methods a comparison runs, with which settings."""

import dataclasses
import math

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.methods.dp_fedrec import DPFedRec
from discreet.methods.experiment import variants, with_serving
from discreet.privacy.mechanisms.base import Calibration


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


@pytest.mark.parametrize("calibration", list(Calibration))
def test_a_lifetime_includes_what_serving_sends(calibration):
    on_device = DPFedRec(rounds=5, calibration=calibration)
    training = on_device.guarantee({"weight": np.zeros(9, np.float32)})
    assert with_serving(on_device, training) == training
    assert math.isfinite(training.epsilon)
    served = with_serving(dataclasses.replace(on_device, epsilon_serving=1.0), training)
    assert served.epsilon == math.inf
    assert served.claimed_epsilon == training.claimed_epsilon
