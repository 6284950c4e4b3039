"""Noise on histograms, means, averages and plain vectors, between the inputs that are farthest apart."""

from __future__ import annotations

import numpy as np

from discreet.audits.audit_registry import register
from discreet.audits.claims import between
from discreet.audits.scores import Nearness
from discreet.privacy.guarantee import Adjacency, Unit
from discreet.privacy.mechanisms.averages import DPAverage, DPItemAverages
from discreet.privacy.mechanisms.clipped_mean import ClippedMean
from discreet.privacy.mechanisms.discrete import DiscreteGaussian, DiscreteLaplace
from discreet.privacy.mechanisms.mechanism import Calibration
from discreet.privacy.mechanisms.topic_counts import TopicCounts

_RUNS = 200_000
_FEWER = 80_000
_SQUARED = (Nearness(2),)

for _epsilon in (1.0, 3.0):
    _laplace = DiscreteLaplace(epsilon=_epsilon, l1=1.0)
    register(between(_laplace, [0.0], [1.0], f"d=1 ε={_epsilon:g}", runs=_RUNS))
_laplace = DiscreteLaplace(epsilon=3.0, l1=1.0, dimension=4)
register(between(_laplace, [0.0] * 4, [0.25] * 4, "d=4 ε=3", runs=_RUNS))
_laplace = DiscreteLaplace(epsilon=1.0, l1=3.0, grid=1.0)
register(between(_laplace, [0.49], [3.51], "d=1 step=1 ε=1", runs=_RUNS))

for _epsilon in (1.0, 10.0):
    _gaussian = DiscreteGaussian(epsilon=_epsilon, delta=1e-5, l2=1.0, dimension=3)
    _ends = [0.0] * 3, [1.0, 0.0, 0.0]
    _setting = f"d=3 ε={_epsilon:g} δ=1e-5"
    register(between(_gaussian, *_ends, _setting + ", μ", runs=_RUNS, scores=_SQUARED, gaussian=True))
    register(between(_gaussian, *_ends, _setting, runs=_RUNS, scores=_SQUARED))

for _epsilon in (0.5, 3.0):
    _counts = TopicCounts(epsilon=_epsilon, topics=12)
    _history, _other = [0, 1, 2, 3, 4], [5, 1, 2, 3, 4]
    register(between(_counts, _history, _other, f"K=12 ε={_epsilon:g}", runs=_FEWER))
    _hidden = TopicCounts(epsilon=_epsilon, topics=12, adjacency=Adjacency.ADD_REMOVE)
    register(between(_hidden, _history, _history[1:], f"K=12 ε={_epsilon:g}, length hidden", runs=_FEWER))
_counts = TopicCounts(epsilon=3.0, delta=1e-6, topics=12)
register(between(_counts, _history, _other, "K=12 ε=3 δ=1e-6", runs=_FEWER, scores=_SQUARED))

_corner = np.ones((4, 3))
_opposite = np.vstack([-_corner[:1], _corner[1:]])
register(
    between(
        ClippedMean(epsilon=3.0, theta=1.0, dimension=3, history_length=4),
        _corner,
        _opposite,
        "d=3 H=4 ε=3",
        runs=_RUNS,
    )
)
_vector = np.ones((1, 16))
for _calibration, _how in ((Calibration.PAPER, "as published"), (Calibration.EXACT, "corrected")):
    _mean = ClippedMean(epsilon=1.0, theta=1.0, dimension=16, calibration=_calibration)
    register(between(_mean, _vector, -_vector, f"user vector d=16 ε=1, {_how}", runs=_FEWER))

_average = DPAverage(epsilon=1.0, lowest=1.0, highest=5.0)
register(between(_average, [3.0, 5.0], [3.0], "add or remove ε=1", runs=25_000))
_average = DPAverage(epsilon=1.0, lowest=1.0, highest=5.0, unit=Unit.RATING_VALUE, adjacency=Adjacency.SUBSTITUTE)
register(between(_average, [3.0, 5.0], [3.0, 1.0], "substitute ε=1", runs=25_000))
_items = DPItemAverages(epsilon=1.0, lowest=1.0, highest=5.0, items=2)
_few, _fewer = (np.array([0, 0, 1]), np.array([1.0, 1.0, 5.0])), (np.array([0, 0]), np.array([1.0, 1.0]))
register(between(_items, _few, _fewer, "remove an item's only rating ε=1", runs=10_000))
