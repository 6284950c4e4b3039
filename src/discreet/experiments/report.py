"""A comparison in a folder: one self-contained HTML page, the table in Markdown, the figures in JSON, the plots.

The page fetches nothing when it opens, and may be sent by mail. Comparisons of rankings and of ratings are written by
the same function: each says what its page shows.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from discreet.experiments import REPORT_FILES
from discreet.experiments.drawing import color_scheme_css, standalone
from discreet.extras import has_extra
from discreet.files import claim_folder, mark_files, replacing_file


class Page(NamedTuple):
    """A template of the folder `pages`, and what stands in it."""

    template: str
    values: dict[str, Any]


class Reportable(Protocol):
    """A comparison that can be written."""

    def plots(self) -> dict[str, str]:
        """The plots that make sense for it, by name, each an SVG that can stand in a page."""

    def page(self, plots: dict[str, str]) -> Page:
        """What its page shows."""

    def to_markdown(self) -> str:
        """The table in Markdown."""

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""


def save_report(comparison: Reportable, folder: Path, command: str | None = None) -> None:
    """Write comparison.md and comparison.json; with the extra `plots` also the plots, and report.html.

    `command` is shown on the page.
    """
    claim_folder(folder, REPORT_FILES)
    plots = comparison.plots() if has_extra("plots") else {}
    page = html_report(comparison, plots, command) if plots else ""
    texts = {
        **({"report.html": page} if page else {}),
        "comparison.md": comparison.to_markdown() + "\n",
        "comparison.json": json.dumps(comparison.to_json(), indent=2, ensure_ascii=False) + "\n",
        **{f"{name}.svg": standalone(plot) for name, plot in plots.items()},
    }
    for name, text in texts.items():
        with replacing_file(folder / name) as draft:
            draft.write_text(text, encoding="utf-8")
    mark_files(folder, REPORT_FILES, list(texts))


def html_report(comparison: Reportable, plots: dict[str, str], command: str | None = None) -> str:
    """The page, in the frame that all reports have (`page.html`)."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    page = comparison.page({name: Markup(plot) for name, plot in plots.items()})
    pages = Environment(
        loader=PackageLoader("discreet.experiments", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    values = {
        "comparison": comparison,
        "command": command,
        "plot_colors": Markup(color_scheme_css()),
        **page.values,
    }
    return pages.get_template(page.template).render(values)
