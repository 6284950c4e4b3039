"""The device's ledger under a publisher's terms, and the statement that a reader sees."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.edge.reader.publisher_terms import PublisherTerms
from discreet.edge.reader.reader_settings import ReaderSettings
from discreet.privacy.guarantee import Guarantee, Scope
from discreet.privacy.ledger import Ledger, LedgerError, LedgerMissing, LedgerUntrusted, Statement, read_statement


def open_ledger(
    folder: Path, terms: PublisherTerms, clock: Callable[[], float], last_epoch: int | None
) -> tuple[Ledger, bool]:
    """The ledger, and whether it had to be recovered.

    Budget and schedule are those of the first terms. A ledger that cannot be trusted, or is gone while clicks are
    there (`last_epoch`, the latest of which any are), is recovered: all that could have been spent is written off, and
    releases go on with the next epoch.
    """
    through = -1 if last_epoch is None else last_epoch
    try:
        kept = read_statement(folder)
        return Ledger(folder, kept.budget, kept.schedule, clock=clock), False
    except LedgerMissing:
        if last_epoch is None:
            return Ledger(folder, terms.budget, terms.schedule, clock=clock), False
    except LedgerUntrusted:
        pass
    with suppress(LedgerError):
        return Ledger.recover(folder, terms.budget, terms.schedule, clock=clock, through=through), True
    kept = read_statement(folder)
    return Ledger(folder, kept.budget, kept.schedule, clock=clock), True


def stopped(ledger: Ledger, terms: PublisherTerms) -> str | None:
    """Why nothing may be released under these terms; None if it may."""
    ours = {"schedule": ledger.schedule, "adjacency": ledger.budget.adjacency, "lifetime ε": ledger.budget.epsilon}
    theirs = {"schedule": terms.schedule, "adjacency": terms.adjacency, "lifetime ε": terms.lifetime}
    changed = [name for name in ours if ours[name] != theirs[name]]
    return f"the publisher changed its {' and '.join(changed)}, which was to hold for life" if changed else None


@dataclass(frozen=True)
class DeviceStatement:
    """What was sent, what it cost, and what is kept.

    Attributes:
        ledger: All payments.
        settings: The reader's choices.
        clicks: How many clicks are kept.
        open_clicks: How many of them are counted in clear.
        categories: How many clicks are kept of each category.
        stopped: Why nothing is released any more, or None.
    """

    ledger: Statement
    settings: ReaderSettings
    clicks: int
    open_clicks: int
    categories: dict[str, int]
    stopped: str | None

    @property
    def open_guarantee(self) -> Guarantee | None:
        """What protects the open clicks, if there are any: nothing."""
        return Guarantee.unprotected("open counts", Scope.LIFETIME) if self.open_clicks else None

    def __str__(self) -> str:
        lines = [str(self.ledger), "", f"Kept on this device: {self.clicks} clicks"]
        if self.open_clicks:
            names = ", ".join(sorted(self.settings.open_categories)) or "categories that were open then"
            lines.append(f"Sent in clear, protected by nothing: {self.open_clicks} clicks ({names})")
        if self.stopped:
            lines.append(f"Nothing more is released: {self.stopped}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        guarantee = self.open_guarantee
        return {
            "ledger": self.ledger.to_json(),
            "settings": self.settings.to_json(),
            "clicks": self.clicks,
            "open": {"clicks": self.open_clicks, "guarantee": None if guarantee is None else guarantee.to_json()},
            "categories": self.categories,
            "stopped": self.stopped,
        }
