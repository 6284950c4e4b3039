"""The anchor: a small file next to the debits that remembers how many there were, so that an older copy is noticed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from discreet.files import durable_file
from discreet.privacy.ledger.ledger_errors import LedgerUntrusted


@dataclass(frozen=True)
class Anchor:
    """What the debits must at least be.

    Attributes:
        ledger: The ledger's random identity.
        debits: The number of the latest debit.
        head: The digest of that debit, which holds those of all before it.
        latest: The latest time the ledger has seen, in seconds since 1970.
        inode: The file number of the debits. A folder put back from a backup, or copied, has another one.
    """

    ledger: str
    debits: int
    head: str
    latest: int
    inode: int

    @classmethod
    def read(cls, path: Path) -> Anchor | None:
        """The anchor, or None where there is no file."""
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise _unreadable(path) from error
        try:
            fields = json.loads(text)
            ledger, debits, head = str(fields["ledger"]), int(fields["debits"]), str(fields["head"])
            return cls(ledger, debits, head, int(fields["latest"]), int(fields["inode"]))
        except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
            raise _unreadable(path) from error

    def write(self, path: Path) -> None:
        """Replace the file, and return only when the new one is on the disk."""
        with durable_file(path) as draft:
            draft.write_bytes(json.dumps(asdict(self)).encode() + b"\n")


def _unreadable(path: Path) -> LedgerUntrusted:
    return LedgerUntrusted(
        path, "cannot be read as an anchor, so the debits cannot be trusted; recover the ledger to go on"
    )
