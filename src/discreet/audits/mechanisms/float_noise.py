"""Floating-point noise: its scale, its leak, and what FedNewsRec's noise on each coordinate costs as a whole."""

from __future__ import annotations

from discreet.audits.audit_registry import Audit, register
from discreet.audits.claims import between
from discreet.audits.float_leak import FloatLeak, NumpyLaplaceReach
from discreet.audits.sampling import MechanismSampler
from discreet.audits.scores import Nearness
from discreet.privacy.guarantee import Status
from discreet.privacy.mechanisms.float_noise import FloatNoise
from discreet.privacy.mechanisms.gaussian import AnalyticGaussian
from discreet.privacy.mechanisms.laplace import Laplace

_RUNS = 200_000

_float = FloatNoise(epsilon=1.0, noise_sensitivity=1.0)
_leak = FloatLeak(MechanismSampler(_float, [0.0], simulated=True), 0.0, 1.0, NumpyLaplaceReach(_float.scale))
register(Audit(_float.name, "Laplace ε=1, impossible outputs", Status.CLAIMED, 0.0, _leak))

_laplace = Laplace(epsilon=1.0, l1=1.0)
register(between(_laplace, [0.0], [1.0], "scale ε=1", runs=_RUNS, simulated=True))
for _epsilon in (1.0, 10.0):
    _analytic = AnalyticGaussian(epsilon=_epsilon, delta=1e-5, l2=1.0)
    register(
        between(
            _analytic,
            [0.0],
            [1.0],
            f"scale ε={_epsilon:g} δ=1e-5",
            runs=_RUNS,
            scores=(Nearness(2),),
            gaussian=True,
            simulated=True,
        )
    )

_CLIP, _LAMBDA, _COORDINATES = 0.005, 0.015, 1000
"""FedNewsRec's published clip and noise, on a gradient of no more than a thousand coordinates."""

_gradient = FloatNoise(epsilon=2 * _CLIP / _LAMBDA, noise_sensitivity=2 * _CLIP, dimension=_COORDINATES)
register(
    between(
        _gradient,
        [-_CLIP] * _COORDINATES,
        [_CLIP] * _COORDINATES,
        f"FedNewsRec gradient d={_COORDINATES} δ={_CLIP} λ={_LAMBDA}, as published",
        runs=4000,
        simulated=True,
    )
)
