"""Every vendor method with an ε: the noise that it truly adds, against how far neighbours' data move what it noises."""

import math
from dataclasses import replace

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from dp_accounting.pld import PLDAccountant
from noise_transcript import Transcript, recording
from scipy.stats import norm
from small_ratings import random_ratings, with_value, without_rating, without_user

from discreet.data.purchases import Purchases
from discreet.privacy.guarantee import Unit
from discreet.vendors.implicit.dp_ials import DPIALS
from discreet.vendors.implicit.ranking_registry import METHODS as RANKING_METHODS
from discreet.vendors.implicit.sharing import RankingSharing
from discreet.vendors.methods.ada_dpals import AdaDPALS
from discreet.vendors.methods.baselines import DPAverages
from discreet.vendors.methods.cmf import CMF
from discreet.vendors.methods.descent import FOR_RATINGS, FOR_USERS
from discreet.vendors.methods.dpals import DPALS
from discreet.vendors.methods.feature_dpals import FeatureDPALS
from discreet.vendors.methods.fmf import FMF
from discreet.vendors.methods.hua import Hua
from discreet.vendors.methods.liu import Liu
from discreet.vendors.methods.user_vectors import UserRidge
from discreet.vendors.partition import Distribution, Level, partition
from discreet.vendors.sharing import Sharing, plan
from discreet.vendors.vendor_registry import METHODS

TINY = {"vector_bound": 0.02, "error_bound": 0.02, "start_bound": 0.02}
USERS, RATINGS = replace(FOR_USERS, **TINY), replace(FOR_RATINGS, **TINY)
COLD = {"error_bound": 0.3, "vector_prior": 1e3, "later_bias_prior": 1e3}
"""Langevin dynamics need less noise than privacy."""
VERTICAL = {"level": Level.RATING, "distribution": Distribution.VERTICAL}
LOOSE = UserRidge(0.1, 0.1)

AT_BOUNDS = [
    DPALS(epsilon=2, **TINY),
    AdaDPALS(epsilon=2, **TINY),
    FeatureDPALS(epsilon=2, **TINY),
    FMF(epsilon=2, ratings_per_user=3, for_users=USERS),
    FMF(epsilon=2, ratings_per_user=3, for_users=USERS, sampling=0.5),
    FMF(epsilon=2, level=Level.RATING, for_ratings=RATINGS),
    FMF(epsilon=2, for_ratings=RATINGS, **VERTICAL),
    Liu(epsilon=0.1, ratings_per_user=3, rounds=replace(USERS, **COLD)),
    CMF(epsilon=0.1, rounds=replace(RATINGS, **COLD)),
    Hua(epsilon=2, vector_bound=0.02),
    Hua(epsilon=200, vector_bound=0.02, sweeps=3),
    DPAverages(epsilon=2),
    DPAverages(epsilon=2, unit=Unit.USER, ratings_per_user=3),
    Sharing(epsilon=5),
    Sharing(epsilon=5, colluders=0),
    DPIALS(epsilon=2, curvature_weight=0.7, user_ridge=1e-3, user_unobserved=1e-3),
    RankingSharing(epsilon=5),
]
"""With settings in which somebody moves a sum by all that there is noise for."""
OTHERS = [
    *(
        method(epsilon=epsilon)
        for method in (DPALS, AdaDPALS, FeatureDPALS, FMF, Liu, CMF, Hua, DPIALS)
        for epsilon in (0.5, 8)
    ),
    Hua(epsilon=200, vector_bound=0.3, sweeps=3, vector_prior=30),
    FMF(epsilon=2, **VERTICAL),
    FMF(epsilon=2, level=Level.RATING, ridge=LOOSE),
    FMF(epsilon=2, calibration="paper", level=Level.RATING, ratings_per_user=3, ridge=LOOSE, for_users=USERS),
    FMF(epsilon=2, calibration="paper", ridge=LOOSE, **VERTICAL),
    Liu(epsilon=2, calibration="paper", ratings_per_user=3, rounds=USERS),
    CMF(epsilon=2, calibration="paper", rounds=RATINGS),
]
"""As they are usually set, and as published with the true ε: it is an upper bound."""


def vendors_of(method, kind):
    """Vendors whose users rate everything as the best and the worst, or everything alike."""
    parts = []
    for number in range(4):
        made = random_ratings(number, users=5, items=7, density=0.8)
        value = 3.0 if kind == "alike" else np.where(np.arange(len(made)) % 2 == 0, 1.0, 5.0)
        value = np.full(len(made), value, np.float32)
        parts.append(replace(made, value=value, users=[f"{number}-{user}" for user in made.users]))
    if getattr(method, "distribution", None) is Distribution.VERTICAL:
        return partition(parts[0], 2, distribution=Distribution.VERTICAL)
    if isinstance(method, DPIALS | RankingSharing):
        return [Purchases.likes(part, 0.0) for part in parts]
    return parts


def neighbours(vendors, unit):
    own, others = vendors[0], vendors[1:]
    if unit is Unit.USER:
        changed = [without_user(own, user) for user in range(len(own.users))]
    elif unit is Unit.RATING:
        changed = [without_rating(own, number) for number in range(0, len(own), 3)]
    else:
        changed = [with_value(own, number, 1.0 if own.value[number] > 1 else 5.0) for number in range(0, len(own), 3)]
    return [[each, *others] for each in changed]


def spent(method, vendors, other, loudness):
    """The ε that the transcript of two neighbours needs, and what it has been told that it may need at most."""
    transcript = Transcript(loudness)
    with recording(transcript):
        before = method.share(vendors, 7)
        transcript.moved = []
        after = method.share(other, 7)
    assert np.array_equal(numbers(before), numbers(after)), "something leaves without noise"
    return transcript.losses()


def numbers(shared):
    """Everything in what vendors share, one after the other."""
    if isinstance(shared, float | int | np.ndarray):
        return np.ravel(shared)
    if isinstance(shared, list | tuple):
        return np.concatenate([np.zeros(0), *(numbers(each) for each in shared)])
    parts = {"factors", "mean", "rows", "answers", "total", "values"}
    return numbers([getattr(shared, name) for name in sorted(parts) if hasattr(shared, name)])


def hidden_from(method, vendors):
    """By how much the noise that hides a user exceeds that of one release: a reader and its colluders know theirs."""
    if not isinstance(method, Sharing | RankingSharing):
        return 1.0
    return math.sqrt(vendors - 1 - (1 if method.colluders is None else method.colluders))


def delta_of(epsilon, loss):
    return norm.cdf(loss / 2 - epsilon / loss) - math.exp(epsilon) * norm.cdf(-loss / 2 - epsilon / loss)


def cost(method, vendors):
    """The largest δ at the promised ε, or ε where there is no δ, over neighbours; in parts of what is promised."""
    promised, worst = method.guarantee(len(vendors)), 0.0
    gaussians = []
    for other in neighbours(vendors, promised.unit):
        for loudness in (1.0, 1e-3):
            gaussian, laplace, spherical = spent(method, vendors, other, loudness)
            assert gaussian or laplace or spherical
            if gaussian:
                gaussians.append([loss / hidden_from(method, len(vendors)) for loss in gaussian])
            worst = max(worst, (sum(laplace) + spherical) / promised.epsilon)
    return promised, worst, gaussians


def check(method, least, monkeypatch, kind="extreme"):
    monkeypatch.setattr(plan, "directions_worth", lambda *_: 2)
    promised, worst, gaussians = cost(method, vendors_of(method, kind))
    assert promised.claimed_epsilon is not None or promised.epsilon == method.epsilon
    if not gaussians:
        assert least <= worst <= 1 + 1e-9
        return
    assert worst == 0
    losses = [math.sqrt(sum(loss**2 for loss in each)) for each in gaussians]
    assert max(losses) > 0
    if getattr(method, "sampling", 1.0) < 1:
        accountant, most = PLDAccountant(), np.max(gaussians, axis=0)
        accountant.compose(GaussianDpEvent(1 / most[0]))
        for loss in most[1:]:
            accountant.compose(PoissonSampledDpEvent(method.sampling, GaussianDpEvent(1 / loss)))
        assert least * promised.epsilon <= accountant.get_epsilon(promised.delta) <= promised.epsilon * (1 + 1e-3)
        return
    assert delta_of(promised.epsilon, max(losses)) <= promised.delta * (1 + 1e-6)
    if least:
        assert delta_of(promised.epsilon, max(losses) / least) > promised.delta


@pytest.mark.parametrize("method", AT_BOUNDS, ids=lambda method: f"{method.name} {method.guarantee(4).unit}")
def test_somebody_needs_all_of_the_noise_and_nobody_more(method, monkeypatch):
    check(method, 0.97, monkeypatch)


@pytest.mark.parametrize("kind", ["extreme", "alike"])
@pytest.mark.parametrize("method", [*OTHERS, *AT_BOUNDS], ids=lambda method: f"{method.name} {method.epsilon}")
def test_nobody_moves_what_is_released_by_more_than_the_noise_is_for(method, kind, monkeypatch):
    check(method, 0.0, monkeypatch, kind)


@pytest.mark.parametrize("registry", [METHODS, RANKING_METHODS])
def test_every_method_with_a_budget_is_in_the_list(registry):
    private = {registry[name] for name in registry if registry[name].level_for(Distribution.HORIZONTAL) is not None}
    assert private <= {type(method) for method in AT_BOUNDS}
