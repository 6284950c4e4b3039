"""The audits of a budget for life hold for what is shipped, and refute a noise that is too small for it."""

from dataclasses import replace

import pytest

from discreet.audits import selected
from discreet.audits.front_page import DayCost, LifeMasses, life_price
from discreet.audits.hockey_stick import HockeyStick
from discreet.methods.front_page import windows

HOUR, DAYS, DELTA = 3600, 30, 1e-6


def cost(price, clicks=1):
    return DayCost(price, HOUR, clicks, logs=8, days=DAYS, delta=DELTA).lower_bound(1e-3, 0)


def life(price, days=DAYS):
    return HockeyStick(LifeMasses(price, days), DELTA).lower_bound(1e-3, 0)


def test_the_registered_audits_of_a_life_hold():
    of_life = [audit for audit in selected(["front_page"]) if "Gaussian" in audit.setting]
    assert len(of_life) == 4
    for audit in of_life:
        assert audit.holds(audit.examination.lower_bound(1e-3, 0)), audit.name


@pytest.mark.parametrize("clicks", [1, 3])
def test_the_days_of_a_life_come_near_the_bound(clicks):
    assert 0.85 < cost(life_price(DAYS, clicks), clicks) <= 1


def test_the_exact_probabilities_of_a_life_come_near_the_bound():
    assert 0.85 < life(life_price(DAYS)) <= 1
    assert life(life_price(DAYS), 2 * DAYS) > 1


def test_noise_for_too_few_days_is_refuted():
    broken = life_price(DAYS // 2)
    assert broken.delta, "the same noise, but less"
    assert cost(broken) > 1
    assert life(broken) > 1
    one_day = replace(broken, epsilon=1.0)
    assert cost(one_day) > 5
    assert life(one_day) > 5


def test_three_clicks_with_the_noise_of_one_are_refuted(monkeypatch):
    price = life_price(DAYS, 3)
    monkeypatch.setattr("discreet.audits.front_page.noise_scale", lambda price, _: windows.noise_scale(price))
    assert cost(price, 3) > 1.5
