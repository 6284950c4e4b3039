"""`discreet audit`: what an adversary achieves against what is claimed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from discreet.cli.options import AsJson, console, print_json, say
from discreet.errors import DiscreetError
from discreet.extras import require_extra
from discreet.files import check_file
from discreet.progress import notice

if TYPE_CHECKING:
    from discreet.audits import Finding


def audit(
    mechanisms: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MECHANISM]...", help="Which mechanisms, by name; without, all of them.", show_default=False
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw claims against lower bounds (.svg, .png or .pdf).")
    ] = None,
    seed: Annotated[
        int,
        typer.Option(min=0, help="Seed of simulated noise; what leaves a device uses secure noise, which has none."),
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Run the shipped mechanisms and try to refute what is claimed of them.

    Each row compares a claim with a lower bound that an adversary reached. All bounds of a run hold together with
    probability 0.999. Exit code 1 if something that is called proved was refuted; papers' claims may be, and are.

    Example: discreet audit "clipped attention" "randomized response" --plot audit.svg
    """
    from discreet.audits import run, selected
    from discreet.audits.findings import PLOT_FORMATS, to_json
    from discreet.audits.findings import plot as draw
    from discreet.audits.shipped import load_audits
    from discreet.plugins import load_plugins

    if plot is not None and plot.suffix not in PLOT_FORMATS:
        raise DiscreetError(f"{plot}: a plot's name ends in {', '.join(PLOT_FORMATS)}")
    if plot is not None:
        require_extra("plots")
        check_file(plot)
    load_plugins()
    for line in load_audits():
        notice(line)
    findings = run(selected(mechanisms or []), seed=seed)
    if plot is not None:
        draw(findings, plot)
    if as_json:
        print_json(to_json(findings))
    else:
        _print_table(findings)
        if plot is not None:
            say(f"Plot: {plot}")
    if any(finding.is_failure for finding in findings):
        raise typer.Exit(1)


def _print_table(findings: Sequence[Finding]) -> None:
    from discreet.audits.audit_run import FAMILY_ERROR, error_each

    table = Table("Mechanism", "Status", "Claim", "Lower bound", "Verdict", box=None, pad_edge=False)
    for finding in findings:
        colour = "red" if finding.is_failure else "green" if finding.holds else "yellow"
        measure = finding.audit.examination.measure
        table.add_row(
            finding.audit.name,
            str(finding.audit.status),
            f"{measure.symbol} ≤ {_number(finding.audit.claim)}",
            f"{measure.symbol} ≥ {_number(finding.lower_bound)}",
            f"[{colour}]{finding.verdict}[/]",
        )
    console.print(table)
    each = error_each([finding.audit for finding in findings])
    say(
        f"Audits: {len(findings)}. The chance that any true claim was refuted is at most {FAMILY_ERROR:g}"
        f" ({each:.2g} for each audit in which chance plays a part)."
    )
    failures = [finding.audit.name for finding in findings if finding.is_failure]
    if failures:
        console.print(f"[red]Called proved, and refuted: {'; '.join(failures)}[/]", highlight=False)


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3g}"
