"""Mechanisms, each with its theorem. The registry of all of them is `discreet.privacy.mechanisms.registry`."""

from discreet.privacy.mechanisms.base import Calibration, Mechanism, Sensitivity, Theorem
from discreet.privacy.mechanisms.gaussian import AnalyticGaussian
from discreet.privacy.mechanisms.laplace import Laplace

__all__ = ["AnalyticGaussian", "Calibration", "Laplace", "Mechanism", "Sensitivity", "Theorem"]
