"""One self-contained HTML page for a comparison: nothing is fetched when it opens, and it may be sent by mail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.experiments.drawing import color_scheme_css
from discreet.experiments.plots import auc_plot_svg, epsilon_plot_svg
from discreet.experiments.results import Comparison
from discreet.experiments.table import headings, legend, rows
from discreet.files import replacing_file


def write_report(comparison: Comparison, path: Path, command: str | None = None) -> None:
    """Write the report.

    Args:
        comparison: What to show.
        path: The HTML file, replaced as a whole.
        command: The command that made it, shown so that a reader can repeat it.
    """
    with replacing_file(path) as draft:
        draft.write_text(html_report(comparison, command), encoding="utf-8")


def html_report(comparison: Comparison, command: str | None = None) -> str:
    """The report's text."""
    from markupsafe import Markup

    by_epsilon = epsilon_plot_svg(comparison)
    return render_page(
        "discreet.evaluation",
        "report.html",
        comparison=comparison,
        reference=comparison.reference,
        headings=headings(comparison),
        rows=rows(comparison),
        labels=[result.label for result in comparison.results],
        legend=legend(comparison),
        notes=comparison.notes(),
        summary=_summary(comparison),
        auc_plot=Markup(auc_plot_svg(comparison)),
        epsilon_plot=None if by_epsilon is None else Markup(by_epsilon),
        command=command,
    )


def render_page(package: str, template: str, **values: Any) -> str:
    """A template from a package's folder `pages`, in the frame that all reports have (`page.html`)."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    folders = [PackageLoader(name, "pages") for name in dict.fromkeys((package, "discreet.evaluation"))]
    pages = Environment(
        loader=ChoiceLoader(folders), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return pages.get_template(template).render(plot_colors=Markup(color_scheme_css()), **values)


def _summary(comparison: Comparison) -> str:
    """The best method, and whether it is truly better than the best baseline, in a sentence."""
    best = max(comparison.results, key=lambda result: result.estimate("auc").mean)
    sentence = f"The best AUC is {best.estimate('auc')}, by {best.label}"
    reference = comparison.reference
    if reference is None:
        return sentence + "."
    if best is reference:
        return sentence + ", a baseline: no other method is better."
    difference = best.minus(reference, "auc")
    verdict = "more than" if difference.z > 2 else "which is not beyond"
    return f"{sentence}: {difference} against {reference.label}, the best baseline, {verdict} two standard errors."
