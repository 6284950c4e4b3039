"""PrivateRec's attention, as published and corrected.

The worst neighbours are weights uniform on disjoint halves of the basis. The public padding is worst where it gives
the same weights as one of the two, which makes the amplification formula tight.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.audits.audit_registry import Audit, register
from discreet.audits.claims import between
from discreet.audits.sampling import WhenMasked
from discreet.audits.scores import Nearness
from discreet.privacy.mechanisms.attention import ClippedAttention, private_attention
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.privacy.mechanisms.padding import RandomPadding

_CALIBRATIONS = {Calibration.PAPER: "as published", Calibration.EXACT: "corrected"}
_FEW = 200_000
_ENOUGH_FOR_TEN = 1_250_000


def _halves(size: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Attention that is uniform on the first half of the basis, and on the second."""
    first = (np.arange(size) < size // 2).astype(float)
    return first / first.sum(), (1 - first) / (1 - first).sum()


def _padded_laplace(basis: int, padding: float, theta: float, epsilon: float, calibration: Calibration) -> Audit:
    mechanism = private_attention(
        epsilon=epsilon,
        dimension=basis,
        theta=theta,
        padding=padding,
        history_length=1,
        calibration=calibration,
    )
    assert isinstance(mechanism, RandomPadding)
    first, second = _halves(basis)
    anchors = mechanism.inner.checked(first), mechanism.inner.checked(second)
    audit = between(
        mechanism,
        WhenMasked(first, second),
        WhenMasked(second, second),
        f"B={basis} p={padding} θ={theta:g} ε={epsilon:g}, {_CALIBRATIONS[calibration]}",
        runs=_ENOUGH_FOR_TEN if epsilon > 5 and calibration is Calibration.PAPER else _FEW,
        scores=(Nearness(1, anchors),),
    )
    return replace(audit, mechanism=mechanism.inner.name)


def _gaussian(epsilon: float, calibration: Calibration) -> Audit:
    mechanism = ClippedAttention(epsilon=epsilon, delta=1e-5, dimension=3, calibration=calibration)
    first, second = np.eye(3)[:2]
    setting = f"Gaussian B=3 ε={epsilon:g} δ=1e-5, {_CALIBRATIONS[calibration]}"
    return between(mechanism, first, second, setting, runs=_FEW, scores=(Nearness(2),), gaussian=True)


for _calibration in _CALIBRATIONS:
    for _epsilon in (1.0, 3.0, 10.0):
        register(_padded_laplace(3, 0.2, 1.0, _epsilon, _calibration))
    for _epsilon in (1.0, 3.0):
        register(_padded_laplace(5, 0.5, 1.0, _epsilon, _calibration))
    register(_padded_laplace(5, 0.5, 0.5, 10.0, _calibration))  # a clip that bites; the paper names none
    register(_gaussian(10.0, _calibration))
    _plain = ClippedAttention(epsilon=1.0, dimension=4, calibration=_calibration)
    register(between(_plain, *_halves(4), f"B=4 θ=1 ε=1, {_CALIBRATIONS[_calibration]}", runs=_FEW))

_padded = private_attention(epsilon=2.0, dimension=2, padding=0.5, history_length=1)
assert isinstance(_padded, RandomPadding)
_one, _other = np.eye(2)
register(
    between(
        _padded,
        WhenMasked(_one, _other),
        WhenMasked(_other, _other),
        "attention B=2 p=0.5 ε=2",
        runs=_FEW,
        scores=(Nearness(1, (_padded.inner.checked(_one), _padded.inner.checked(_other))),),
    )
)
