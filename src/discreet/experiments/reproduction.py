"""A table or figure of a paper that was run again: what all of them show, and how they are written."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.experiments.drawing import standalone
from discreet.files import claim_folder, mark_files, replacing_file
from discreet.version import __version__


class Reproduced(ABC):
    """An experiment's outcome."""

    name: str
    dataset: str

    @abstractmethod
    def table(self) -> list[dict[str, str]]:
        """A row for each figure, by heading, as people read it."""

    @abstractmethod
    def conclusions(self) -> list[str]:
        """What comes out of what the paper says, and what must be known to read the table."""

    @abstractmethod
    def plots(self) -> dict[str, str]:
        """Each plot as an SVG, by the name of its file."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""

    def markdown(self) -> str:
        """The table, with what comes out below."""
        rows = self.table()
        lines = []
        if rows:
            lines = [f"| {' | '.join(rows[0])} |", "| --- |" + " ---: |" * (len(rows[0]) - 1)]
            lines += [f"| {' | '.join(row.values())} |" for row in rows]
        return "\n".join([*lines, "", *(f"- {line}" for line in self.conclusions())])

    def save(self, folder: Path) -> list[Path]:
        """Write the table, its figures and the plots; the paths of the plots."""
        told = {"discreet": __version__, **self.to_json()}
        drawn = {f"{name}.svg": standalone(plot) for name, plot in self.plots().items()}
        texts = {
            f"{self.name}.md": self.markdown() + "\n",
            f"{self.name}.json": json.dumps(told, indent=2, ensure_ascii=False) + "\n",
            **drawn,
        }
        claim_folder(folder, texts)
        for name, text in texts.items():
            with replacing_file(folder / name) as draft:
                draft.write_text(text, encoding="utf-8")
        mark_files(folder, texts, texts)
        return [folder / name for name in drawn]


def refuse_other_version(folder: Path, names: Sequence[str]) -> None:
    """Refuse to put results of these experiments among those of another version, before any work.

    Raises:
        DiscreetError: It names a file, and its version.
    """
    for path in (folder / f"{name}.json" for name in names):
        if not path.exists():
            continue
        try:
            version = str(json.loads(path.read_text(encoding="utf-8"))["discreet"])
        except (OSError, ValueError, KeyError, TypeError):
            version = "another version"
        if version != __version__:
            raise DiscreetError(
                f"{path}: was made by {version}, and this is {__version__}; choose another --out, or say --fresh to"
                " measure and write all again"
            )
