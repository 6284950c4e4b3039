"""Prio3: sums of measurements that are secret-shared among aggregators and proved to be within their bounds."""

from discreet.aggregation.prio3.batch import VerifierInput, verifier_shares_to_message_batch, verify_init_batch
from discreet.aggregation.prio3.circuits import best_chunk_length
from discreet.aggregation.prio3.prio3 import NONCE_SIZE, VERIFY_KEY_SIZE, InvalidReportError, Prio3, VerifyState

__all__ = [
    "NONCE_SIZE",
    "VERIFY_KEY_SIZE",
    "InvalidReportError",
    "Prio3",
    "VerifierInput",
    "VerifyState",
    "best_chunk_length",
    "verifier_shares_to_message_batch",
    "verify_init_batch",
]
