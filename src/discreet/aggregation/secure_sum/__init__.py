"""Secure sum: the server learns the sum of the clients' integer vectors mod 2^bits, and nothing else about them.

After Bonawitz et al. (2017), "Practical Secure Aggregation for Privacy-Preserving Machine Learning", with the neighbour
graphs of Bell et al. (2020). Messages, threat model and limits: docs/explanation/secure-sum.md. Nobody has audited it.
"""

from discreet.aggregation.secure_sum.client import Client
from discreet.aggregation.secure_sum.keys import Identity
from discreet.aggregation.secure_sum.plan import Plan
from discreet.aggregation.secure_sum.run import run_round, secure_sum
from discreet.aggregation.secure_sum.server import Server, Sum
from discreet.aggregation.secure_sum.terms import Step, Terms

__all__ = ["Client", "Identity", "Plan", "Server", "Step", "Sum", "Terms", "run_round", "secure_sum"]
