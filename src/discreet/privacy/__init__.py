"""Guarantees, mechanisms, exact noise, accounting, the ledger, and the auditor."""
