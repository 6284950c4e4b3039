"""The audits of the mechanisms in `discreet.privacy`, registered when this package is imported."""

from discreet.audits.mechanisms import attention, choices, distributed, float_noise
from discreet.audits.mechanisms import noised_values as noise

__all__ = ["attention", "choices", "distributed", "float_noise", "noise"]
