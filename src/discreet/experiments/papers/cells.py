"""A figure in a paper's table is a cell: a method that is trained and measured. Statements compare two cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.split import some_readers
from discreet.evaluation.metrics import METRICS
from discreet.experiments.cache import MeasurementCache
from discreet.experiments.kept_trainings import KeptTrainings
from discreet.experiments.provenance import own_code
from discreet.experiments.ranking_comparison import compare
from discreet.experiments.ranking_results import MethodResult
from discreet.experiments.rating_plots import dot_plot, line_plot
from discreet.experiments.reproduction import Reproduced
from discreet.methods.in_rounds import InRounds
from discreet.methods.method import Method, TrainingTask
from discreet.methods.settings import settings_of
from discreet.models.model_registry import MODELS
from discreet.privacy.guarantee import shown_epsilon
from discreet.progress import detail
from discreet.protocol.infinity import to_plain

Place = tuple[str, float]
"""Where a cell stands: its line, and its place on the axis across."""

_SHOWN = {"auc": "AUC", "mrr": "MRR", "ndcg@5": "nDCG@5", "ndcg@10": "nDCG@10"}


@dataclass(frozen=True)
class PaperCell:
    """A method to be measured.

    Attributes:
        line: The row of a table, or the line of a plot.
        method: What is trained.
        x: Its place on the axis across; 0 in tables.
        readers: Which share of the readers train; all are tested.
        printed: What the paper prints, by metric, from 0 to 1; empty where its text has no numbers.
    """

    line: str
    method: Method
    x: float = 0.0
    readers: float = 1.0
    printed: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class PaperStatement:
    """What a paper says of two cells: that one is above the other, or, if `alike`, that they hardly differ."""

    words: str
    above: Place
    below: Place
    alike: bool = False

    def verdict(self, results: Mapping[Place, MethodResult]) -> str:
        """Whether it comes out here, by the paired difference in AUC."""
        found = results[self.above].minus(results[self.below], "auc")
        if self.alike:
            outcome = "comes out" if abs(found.z) <= 2 else "does not come out"
        else:
            outcome = "comes out" if found.z > 2 else "the opposite comes out" if found.z < -2 else "is not decided"
        return f"{self.words}: {outcome} ({found})"


@dataclass(frozen=True)
class Panel:
    """A plot of lines: (label, x, y) each."""

    name: str
    across: str
    up: str
    lines: Sequence[tuple[str, Sequence[float], Sequence[float]]]
    log: bool = False


@dataclass(frozen=True)
class Plan:
    """What a table or figure needs.

    Attributes:
        cells: What is trained and measured.
        statements: What the paper says of them.
        across: What the axis across is; empty for a table.
        log: Whether it is logarithmic.
        panels: Plots that need no training.
        remarks: What must be known to read the result.
        judged: Verdicts that need no cells.
    """

    cells: Sequence[PaperCell]
    statements: Sequence[PaperStatement]
    across: str = ""
    log: bool = False
    panels: Sequence[Panel] = ()
    remarks: Sequence[str] = ()
    judged: Sequence[str] = ()


@dataclass(frozen=True)
class NewsReproduction(Reproduced):
    """A table or figure of a news paper, run again."""

    name: str
    dataset: str
    plan: Plan
    results: Mapping[Place, MethodResult]

    def table(self) -> list[dict[str, str]]:
        """A row for each cell; printed values only where the paper has some."""
        rows = []
        any_printed = any(cell.printed for cell in self.plan.cells)
        for cell in self.plan.cells:
            result = self.results[cell.line, cell.x]
            row = {"what": cell.line}
            if self.plan.across:
                row[self.plan.across] = shown_epsilon(cell.x)
            if any_printed:
                row["printed AUC"] = f"{cell.printed['auc']:.4f}" if cell.printed else "–"
            row |= {_SHOWN[metric]: str(result.estimate(metric)) for metric in METRICS}
            guarantee = result.guarantee
            row["true ε for life"] = "–" if guarantee is None else shown_epsilon(guarantee.epsilon)
            rows.append(row)
        return rows

    def verdicts(self) -> list[str]:
        """Which statements of the paper come out."""
        return [*self.plan.judged, *(statement.verdict(self.results) for statement in self.plan.statements)]

    def conclusions(self) -> list[str]:
        """Verdicts and remarks."""
        return [*self.verdicts(), *self.plan.remarks]

    def to_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        rows = [
            {
                "what": cell.line,
                "at": to_plain(cell.x),
                "printed": dict(cell.printed) or None,
                **self.results[cell.line, cell.x].to_json(),
            }
            for cell in self.plan.cells
        ]
        findings = {"verdicts": self.verdicts(), "remarks": list(self.plan.remarks)}
        return {"experiment": self.name, "dataset": self.dataset, "rows": rows, **findings}

    def plots(self) -> dict[str, str]:
        """The figure, and the other panels."""
        drawn = {
            f"{self.name}-{panel.name}": line_plot(panel.lines, panel.across, panel.up, panel.name, log=panel.log)
            for panel in self.plan.panels
        }
        if not self.plan.cells:
            return drawn
        auc = {place: result.estimate("auc") for place, result in self.results.items()}
        up = f"AUC on {self.dataset}"
        if not self.plan.across:
            dots = [(cell.line, auc[cell.line, cell.x], cell.printed.get("auc")) for cell in self.plan.cells]
            return {self.name: dot_plot(dots, up, self.name), **drawn}
        lines = []
        for line in dict.fromkeys(cell.line for cell in self.plan.cells):
            x = [cell.x for cell in self.plan.cells if cell.line == line]
            lines.append((line, x, [auc[line, each].mean for each in x]))
        return {self.name: line_plot(lines, self.plan.across, up, self.name, log=self.plan.log), **drawn}


def measure_plan(
    name: str, task: TrainingTask, plan: Plan, seeds: Sequence[int], cache: MeasurementCache, jobs: int = 1
) -> NewsReproduction:
    """Train and measure all cells of a plan, those of the same readers together, `jobs` trainings at a time.

    What was trained is kept next to the measurements: tables of one paper share most of their trainings.
    """
    results: dict[Place, MethodResult] = {}
    for share in dict.fromkeys(cell.readers for cell in plan.cells):
        cells = [cell for cell in plan.cells if cell.readers == share]
        part = task if share == 1 else replace(task, data=some_readers(task.data, share, seeds[0]))
        methods = list(dict.fromkeys(cell.method for cell in cells))
        measured = dict(
            zip(methods, compare(part, methods, "dev", seeds, cache, jobs=jobs, keep_states=True).results, strict=True)
        )
        results |= {(cell.line, cell.x): measured[cell.method] for cell in cells}
    return NewsReproduction(name, task.data.name, plan, results)


def training_curve(task: TrainingTask, method: InRounds, seed: int, cache: MeasurementCache) -> NDArray[np.float64]:
    """Rows of (round, AUC on some impressions of dev) while a method trains."""
    code = own_code(type(method), MODELS[method.model])
    key = [task.data.fingerprint, task.text_identity, code, settings_of(method), seed, "curve"]
    found = cache.get(method.name, key)
    if found is not None:
        return found.arrays["watched"]
    detail(f"{method.name}, seed {seed}: training and watching")
    watched = np.asarray(KeptTrainings(cache).train(method, task, seed)["watched"], np.float64)
    cache.put(method.name, key, {"watched": watched})
    return watched
