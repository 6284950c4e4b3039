"""Sums over many people's devices that nobody sees into, by aggregators that do not collude."""

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.noise import share_noise
from discreet.aggregation.sums import NoisySum, PlainSums, Sums
from discreet.aggregation.task import Task

__all__ = [
    "Contribution",
    "NoisySum",
    "PlainSums",
    "Sums",
    "Task",
    "share_noise",
]
