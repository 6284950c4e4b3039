"""A table or figure of a paper that was run again: what all of them show, and how they are written."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from discreet.experiments.drawing import standalone
from discreet.files import claim_folder, mark_files, replacing_file


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

    def save(self, folder: Path) -> None:
        """Write the table, its figures and the plots."""
        texts = {
            f"{self.name}.md": self.markdown() + "\n",
            f"{self.name}.json": json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n",
            **{f"{name}.svg": standalone(plot) for name, plot in self.plots().items()},
        }
        claim_folder(folder, texts)
        for name, text in texts.items():
            with replacing_file(folder / name) as draft:
                draft.write_text(text, encoding="utf-8")
        mark_files(folder, texts, texts)
