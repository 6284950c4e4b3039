"""The auditor: runs the shipped code and tries to refute what is claimed of it."""

from discreet.privacy.audit.black_box import BlackBox
from discreet.privacy.audit.enumeration import Enumeration
from discreet.privacy.audit.float_leak import FloatLeak
from discreet.privacy.audit.noninterference import NonInterference, leaks
from discreet.privacy.audit.registry import Audit, Measure, register, registered, selected
from discreet.privacy.audit.run import Finding, run
from discreet.privacy.audit.sampling import MechanismSampler

__all__ = [
    "Audit",
    "BlackBox",
    "Enumeration",
    "Finding",
    "FloatLeak",
    "Measure",
    "MechanismSampler",
    "NonInterference",
    "leaks",
    "register",
    "registered",
    "run",
    "selected",
]
