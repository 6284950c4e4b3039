"""What a run of audits found, for scripts and for the eye."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.audits.audit_registry import Measure
from discreet.audits.audit_run import FAMILY_ERROR, Finding, error_each
from discreet.files import replacing_file
from discreet.tabular import Tabular


def to_json(findings: Sequence[Finding]) -> dict[str, Any]:
    """The contract of `discreet audit --json`."""
    return {
        "family_wise_error": FAMILY_ERROR,
        "error_each": error_each([finding.audit for finding in findings]),
        "mechanisms": [finding.to_json() for finding in findings],
    }


@dataclass(frozen=True, repr=False)
class Findings(Tabular):
    """What a run of audits found, in order."""

    findings: Sequence[Finding]

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    @property
    def failures(self) -> list[Finding]:
        """Those in which something that is called proved was refuted."""
        return [finding for finding in self.findings if finding.is_failure]

    def records(self) -> list[dict[str, Any]]:
        """A row for each audit."""
        bounds = ("claim", "lower_bound")
        return [
            {name: float(value) if name in bounds else value for name, value in finding.to_json().items()}
            for finding in self.findings
        ]

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The table that people read."""
        rows = [
            [f"{row[name]:.3g}" if isinstance(row[name], float) else str(row[name]) for name in COLUMNS]
            for row in self.records()
        ]
        return [name.replace("_", " ").capitalize() for name in COLUMNS], rows


COLUMNS = ("mechanism", "status", "measure", "claim", "lower_bound", "verdict")
PLOT_FORMATS = (".svg", ".png", ".pdf")


def plot(findings: Sequence[Finding], path: Path) -> None:
    """Draw each lower bound against its claim: whatever lies above the diagonal is refuted.

    The file's ending decides the format, one of `PLOT_FORMATS`.
    """
    from matplotlib.figure import Figure

    shown = [f for f in findings if f.audit.examination.measure is not Measure.IMPOSSIBLE and f.audit.claim > 0]
    finite = [f.audit.claim for f in shown] + [f.lower_bound for f in shown if math.isfinite(f.lower_bound)]
    top = 1.6 * max(finite, default=1.0)
    floor = 0.5 * min((f.audit.claim for f in shown), default=1.0)

    figure = Figure(figsize=(7, 6), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([floor, top], [floor, top], color="0.6", linewidth=1)
    axes.fill_between([floor, top], [floor, top], [top, top], color="tab:red", alpha=0.06)
    axes.text(floor * 1.15, top * 0.75, "refuted", color="tab:red", va="top")
    for status, marker in (("proved", "o"), ("claimed", "X")):
        group = [f for f in shown if f.audit.status == status]
        axes.scatter(
            [f.audit.claim for f in group],
            [min(max(f.lower_bound, floor), top) for f in group],
            marker=marker,
            c=["tab:green" if f.holds else "tab:red" for f in group],
            edgecolors="white",
            s=60,
            clip_on=False,
            label=f"{status} ({sum(f.holds for f in group)} of {len(group)} hold)",
        )
    axes.set(
        xscale="log",
        yscale="log",
        xlim=(floor, top),
        ylim=(floor, top),
        xlabel="claimed ε (or μ)",
        ylabel="lower bound measured",
        title="Claims against what an adversary achieves",
    )
    axes.legend(loc="lower right")
    with replacing_file(path) as draft:
        figure.savefig(draft, format=path.suffix.lstrip("."), metadata=_fixed_metadata(path))


def _fixed_metadata(path: Path) -> dict[str, Any] | None:
    """No date in the file, so that the same findings give the same bytes."""
    return {"Date": None} if path.suffix == ".svg" else None
