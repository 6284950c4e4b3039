"""What have I spent, on what, since when: the ledger as its owner reads it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.privacy.guarantee import Adjacency, Unit
from discreet.privacy.ledger.budget import Budget, Schedule, cost
from discreet.privacy.ledger.debit import Debit, Spend, Tally, all_clicks
from discreet.privacy.ledger.debit_table import DebitTable
from discreet.privacy.ledger.ledger_errors import LedgerMissing
from discreet.privacy.ledger.ledger_store import LedgerStore
from discreet.protocol.infinity import to_plain


@dataclass(frozen=True)
class Statement:
    """Everything that was paid, and what it comes to.

    Attributes:
        budget: The most that one unit may cost over its life.
        schedule: When epochs begin.
        since: When the ledger was started, in seconds since 1970.
        forgotten_through: The last epoch of a history that was forgotten; −1 where none was.
        debits: All payments, the oldest first.
        by_epoch: What a click of each epoch that was paid for has cost at most.
        worst: The most that any one click has cost over its life.
        all_clicks: What all clicks together have cost at most; None where some number of clicks is not known. Under
            substitution that is about which articles they were on; how many, when and on which slates is public.
    """

    budget: Budget
    schedule: Schedule
    since: int
    forgotten_through: int
    debits: tuple[Debit, ...]
    by_epoch: dict[int, Spend]
    worst: Spend
    all_clicks: Spend | None

    @classmethod
    def of(cls, book: DebitTable) -> Statement:
        """Draw up the statement of a ledger."""
        header, debits = book.header(), book.debits()
        unit = header.budget.unit
        tally = Tally.of(unit, debits)
        edges = {d.first_epoch for d in debits} | {d.last_epoch for d in debits}
        by_epoch = {epoch: tally.at(epoch) for epoch in sorted(edges)}
        return cls(
            budget=header.budget,
            schedule=header.schedule,
            since=header.created,
            forgotten_through=header.forgotten_through,
            debits=tuple(debits),
            by_epoch=by_epoch,
            worst=tally.maximum(0, max(edges)) if edges else Spend(),
            all_clicks=all_clicks(unit, debits),
        )

    def __str__(self) -> str:
        lines = [
            f"Privacy ledger since {_day(self.since)}",
            f"Lifetime budget      {self.budget}",
            f"Most that one {self.budget.unit} has cost so far: {cost(self.worst.epsilon, self.worst.delta)}",
        ]
        if self.all_clicks is None:
            lines.append(
                "All clicks together: not known, some release did not say from how many clicks it was computed"
            )
        else:
            lines.append(
                f"All clicks together: at most {cost(self.all_clicks.epsilon, self.all_clicks.delta)}{self._public}"
            )
        if self.forgotten_through >= 0:
            lines.append(f"Forgotten: epochs up to {self.forgotten_through}; nothing more is released from them")
        lines += ["", *self._table()] if self.debits else ["", "Nothing has been spent."]
        return "\n".join(lines)

    @property
    def _public(self) -> str:
        """What a sum over all clicks does not cover."""
        if self.budget.unit is Unit.USER or self.budget.adjacency is not Adjacency.SUBSTITUTE:
            return ""
        return " (which articles; how many clicks, when and on which slates is public)"

    def to_json(self) -> dict[str, Any]:
        """The statement as plain values; no noise is the string "inf"."""
        return {
            "budget": self.budget.to_json(),
            "schedule": self.schedule.to_json(),
            "since": datetime.fromtimestamp(self.since, UTC).isoformat(),
            "forgotten_through": self.forgotten_through,
            "worst": _spend(self.worst),
            "all_clicks": None if self.all_clicks is None else _spend(self.all_clicks),
            "epochs": [{"epoch": epoch, **_spend(spend)} for epoch, spend in self.by_epoch.items()],
            "debits": [debit.to_json() for debit in self.debits],
        }

    def _table(self) -> list[str]:
        rows = [("when (UTC)", "what for", "epoch", "part", "cost", "clicks", "mechanism", "")]
        for d in self.debits:
            epochs = f"{d.last_epoch}" if d.first_epoch == d.last_epoch else f"{d.first_epoch}–{d.last_epoch}"
            clicks = "?" if d.clicks is None else f"{d.clicks}"
            made_by = f"{d.mechanism} v{d.version}"
            paid = cost(d.epsilon, d.delta)
            rows.append((_minute(d.time), d.purpose, epochs, d.part or "all", paid, clicks, made_by, str(d.state)))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def read_statement(folder: Path, *, timeout: float = 30.0) -> Statement:
    """The statement of the ledger in a folder, whatever its budget and schedule; nothing in it is changed."""
    store = LedgerStore(Path(folder), timeout)
    if not store.folder.is_dir():
        raise LedgerMissing(store.folder, "there is no ledger here")
    with store.lock():
        if store.is_new():
            raise LedgerMissing(store.folder, "there is no ledger here")
        with store.reading() as book:
            return Statement.of(book)


def _spend(spend: Spend) -> dict[str, float | str]:
    return {"epsilon": to_plain(spend.epsilon), "delta": spend.delta}


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def _minute(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
