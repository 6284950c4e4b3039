"""Secure sum: the server learns the sum of the clients' integer vectors mod 2^bits, and nothing else about them.

After Bonawitz et al. (2017), "Practical Secure Aggregation for Privacy-Preserving Machine Learning", with the neighbour
graphs of Bell et al. (2020). Messages, threat model and limits: docs/explanation/secure-sum.md. Nobody has audited it.
"""

from discreet.aggregation.secure_sum.in_process_sum import run_round, secure_sum
from discreet.aggregation.secure_sum.keys import Identity
from discreet.aggregation.secure_sum.sum_client import SumClient
from discreet.aggregation.secure_sum.sum_plan import SumPlan
from discreet.aggregation.secure_sum.sum_server import SumResult, SumServer
from discreet.aggregation.secure_sum.sum_terms import Step, SumTerms

__all__ = ["Identity", "Step", "SumClient", "SumPlan", "SumResult", "SumServer", "SumTerms", "run_round", "secure_sum"]
