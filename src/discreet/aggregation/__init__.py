"""Sums over many people's devices that nobody sees into, by aggregators that do not collude."""

from discreet.aggregation.prio3.vectors import VectorCheck, check_vector

__all__ = ["VectorCheck", "check_vector"]
