"""The auditor: runs the shipped code and tries to refute what is claimed of it."""

from discreet.audits.audit_registry import Audit, Measure, register, registered, selected
from discreet.audits.audit_run import Finding, run
from discreet.audits.black_box import BlackBox
from discreet.audits.enumeration import Enumeration
from discreet.audits.float_leak import FloatLeak
from discreet.audits.noninterference import NonInterference, leaks
from discreet.audits.sampling import MechanismSampler

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
