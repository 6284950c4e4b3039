"""The conditional logit against a direct computation of its likelihood, and against known weights."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp
from tests_support import make_impressions

from discreet.methods.baselines.conditional_logit import fit_choice_weights


def direct_loss(weights, features, impressions):
    total, clicks = 0.0, 0
    for i in range(len(impressions)):
        here = slice(impressions.slate[i], impressions.slate[i + 1])
        scores, clicked = features[here] @ weights, impressions.clicked[here]
        for score in scores[clicked]:
            total += logsumexp(np.append(scores[~clicked], score)) - score
            clicks += 1
    return total / clicks


def random_choices(rng, slates, size, weights, clicks=1):
    features = rng.normal(size=(slates * size, len(weights)))
    utility = (features @ weights + rng.gumbel(size=slates * size)).reshape(slates, size)
    clicked = np.zeros((slates, size), bool)
    np.put_along_axis(clicked, np.argsort(-utility, axis=1)[:, :clicks], True, axis=1)
    shown = rng.integers(0, 50, slates * size)
    return features, make_impressions(shown.reshape(slates, size), clicked)


def test_finds_the_optimum_of_the_likelihood_with_several_clicks():
    rng = np.random.default_rng(3)
    features, impressions = random_choices(rng, 60, 8, np.array([1.0, -0.5]), clicks=2)
    features *= [1.0, 100.0]
    found = fit_choice_weights(features, impressions, ridge=0.0)
    best = minimize(direct_loss, found, args=(features, impressions), method="Nelder-Mead", options={"xatol": 1e-9})
    assert direct_loss(found, features, impressions) <= best.fun + 1e-6


def test_recovers_the_weights_that_made_the_choices():
    true = np.array([1.5, 0.0, -0.7])
    features, impressions = random_choices(np.random.default_rng(4), 4000, 10, true)
    np.testing.assert_allclose(fit_choice_weights(features, impressions), true, atol=0.1)


def test_a_constant_feature_and_slates_without_clicks_do_no_harm():
    rng = np.random.default_rng(5)
    features, impressions = random_choices(rng, 50, 6, np.array([2.0]))
    features = np.column_stack([features, np.ones(len(features))])
    impressions.clicked[:6] = False
    weights = fit_choice_weights(features, impressions)
    assert np.isfinite(weights).all()
    assert weights[0] > 1
    assert weights[1] == 0
    impressions.clicked[:] = False
    assert fit_choice_weights(features, impressions).tolist() == [0, 0]
