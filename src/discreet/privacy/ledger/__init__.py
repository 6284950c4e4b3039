"""The device's ledger: what each click has cost over its life, written down before anything leaves the device.

`Ledger.release` debits, flushes, and only then lets a release be made; it keeps the bytes, so that asking again costs
nothing. docs/explanation/ledger.md has the model, the theorem and its limits.
"""

from discreet.privacy.ledger.answer import LedgerAnswer, Origin
from discreet.privacy.ledger.budget import Budget, Schedule
from discreet.privacy.ledger.debit import Debit, State
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.ledger.ledger_errors import (
    BudgetExhausted,
    LedgerBusy,
    LedgerError,
    LedgerMissing,
    LedgerUntrusted,
)
from discreet.privacy.ledger.statement import Statement, read_statement

__all__ = [
    "Budget",
    "BudgetExhausted",
    "Debit",
    "Ledger",
    "LedgerAnswer",
    "LedgerBusy",
    "LedgerError",
    "LedgerMissing",
    "LedgerUntrusted",
    "Origin",
    "Schedule",
    "State",
    "Statement",
    "read_statement",
]
