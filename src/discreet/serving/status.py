"""What was learnt, how good it is, and what it cost: for the command line, the operator's page and metrics.

All of it is public, or comes from noised sums. No reader is in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from discreet.aggregation.task import DAY, Per, Task
from discreet.errors import DiscreetError
from discreet.privacy.filter import Spent
from discreet.privacy.guarantee import Guarantee, Scope
from discreet.progress import counted
from discreet.protocol.check import limits
from discreet.serving.learning.model_versions import ModelVersions
from discreet.serving.learning.quality_estimates import MeasuredWindow, differences, qualities
from discreet.serving.learning.sum_weights import learnt_weights, weights_line
from discreet.serving.learning.window_store import IMPOSSIBLE, Learnt, WindowStore
from discreet.serving.server_store import ServerStore

TRIAL = "TRIAL: ONE PARTY RUNS BOTH AGGREGATORS AND SEES EVERYTHING. NO PROTECTION AGAINST THE PUBLISHER."
"""What the terms of a trial begin with."""
YEAR = 365
_NO_SUM = {"invalidBatchSize": "too few contributions", IMPOSSIBLE: "an impossible sum"}
_SHOWN_WINDOWS = 60
_SHOWN_VERSIONS = 20
_MAX_DAYS = 36_525


@dataclass(frozen=True)
class Running:
    """What only a running server knows.

    Attributes:
        tasks: The tasks that devices get now.
        refused: How many requests and reports were refused, by reason, since the start.
        aggregators: How they are.
    """

    tasks: Sequence[Task] = ()
    refused: Mapping[str, int] = field(default_factory=dict)
    aggregators: Mapping[str, Any] = field(default_factory=dict)


class MeasuredQuality:
    """How good the ranking is, by all sums that measure it; made again when there is one more of them."""

    def __init__(self, store: ServerStore) -> None:
        self._windows = WindowStore(store)
        self._made: tuple[int, list[dict[str, Any]]] = 0, []

    def __call__(self) -> list[dict[str, Any]]:
        """As the status tells it."""
        count = self._windows.count_measured()
        if count != self._made[0]:
            self._made = count, _quality(self._windows.measured())
        return self._made[1]


def read_status(
    store: ServerStore,
    running: Running | None = None,
    clock: Callable[[], float] = time.time,
    quality: MeasuredQuality | None = None,
) -> dict[str, Any]:
    """The whole document, from a database and, where there is one, from its running server."""
    windows, versions = WindowStore(store), ModelVersions(store)
    counted = windows.counted()
    tasks = {task.id.hex(): task for task in (running.tasks if running else ())}
    for row in counted:
        if row["terms"] is not None and row["task"] not in tasks:
            tasks[row["task"]] = Task.from_json(row["terms"])
    listed = versions.listing(_SHOWN_VERSIONS)
    latest = listed[0] if listed else None
    return {
        "time": int(clock()),
        "articles": store.count_articles(),
        "model": {
            "versions": versions.count(),
            "latest": None if latest is None else latest.to_json(),
            "rolled_back_to": versions.rolled_back_to(),
            "history": [version.to_json() for version in listed],
        },
        "tasks": [_counts(tasks.get(row["task"]), row) for row in counted],
        "weights": None if latest is None else learnt_weights(_known(versions, windows, latest.model)),
        "quality": (quality or MeasuredQuality(store))(),
        "budget": budget(running.tasks if running and running.tasks else _latest(tasks.values())),
        "reports": store.count_reports(),
        "running": None
        if running is None
        else {"refused": dict(running.refused), "aggregators": dict(running.aggregators)},
    }


def _known(versions: ModelVersions, windows: WindowStore, model: str) -> Learnt:
    """What is known of a model; after a rollback, what was known then."""
    chosen = versions.chosen(model)
    return windows.learnt(model) if chosen is None else Learnt(*chosen)


def _counts(task: Task | None, row: Mapping[str, Any]) -> dict[str, Any]:
    """The windows of a task."""
    name = row["task"][:16] if task is None else task.name
    return {"name": name, **{key: value for key, value in row.items() if key != "terms"}}


def _quality(measured: Sequence[MeasuredWindow]) -> list[dict[str, Any]]:
    """Of each task that measures quality: all its windows together, one by one, and its arms compared."""
    by_task: dict[bytes, list[MeasuredWindow]] = {}
    for one in measured:
        by_task.setdefault(one.task.id, []).append(one)
    made = []
    for windows in by_task.values():
        task, found = windows[0].task, qualities(windows)
        made.append(
            {
                "task": task.name,
                "guarantee": guarantee_of(task).to_json(),
                "windows": len(windows),
                "arms": [quality.to_json() for quality in found.values()],
                "differences": [one.to_json() for one in differences(found, len(windows))],
                "over_time": [
                    {
                        "begin": one.task.begins(one.window),
                        "contributions": one.contributions,
                        "arms": [quality.to_json() for quality in qualities([one]).values()],
                    }
                    for one in windows[-_SHOWN_WINDOWS:]
                ],
            }
        )
    return made


def budget(tasks: Sequence[Task]) -> dict[str, Any]:
    """What sums cost a reader who takes part in all of them every day: by task, and together."""
    rows = []
    for task in tasks:
        year = None if _is_trial(task) else year_guarantee((task,)).to_json()
        rows.append(
            {"task": task.name, "day": guarantee_of(task).to_json(), "noise_epsilon": task.epsilon, "year": year}
        )
    return {"tasks": rows, "together": _together(tuple(task for task in tasks if not _is_trial(task)))}


def _together(tasks: tuple[Task, ...]) -> dict[str, Any] | None:
    """What all tasks cost, and when a device's own cap ends it; None where nothing is promised."""
    if not tasks:
        return None
    return {
        "day_epsilon": sum(_of_day(task) for task in tasks),
        "year": year_guarantee(tasks).to_json(),
        "max_life_epsilon": limits.max_life_epsilon,
        "days_until_cap": days_until_cap(tasks),
    }


def guarantee_of(task: Task) -> Guarantee:
    """What one period of a task costs a reader; in a trial, nothing is promised."""
    if _is_trial(task):
        return Guarantee.unprotected(f"clicks in sums; {TRIAL.rstrip('.')}", Scope.DAY)
    return task.guarantee()


@lru_cache(maxsize=64)
def year_guarantee(tasks: tuple[Task, ...]) -> Guarantee:
    """What a year costs a reader who takes part in these tasks on all of its days, as her device adds it up."""
    delta = limits.max_task_delta
    return replace(
        tasks[0].guarantee(),
        epsilon=_days(tasks, YEAR).at(delta),
        delta=delta,
        scope=Scope.LIFETIME,
        mechanism=f"{' and '.join(task.name for task in tasks)} on {YEAR} days",
    )


@lru_cache(maxsize=64)
def days_until_cap(tasks: tuple[Task, ...]) -> int:
    """After how many days of taking part in everything a device's own cap for life ends it."""
    low, high = 0, _MAX_DAYS
    while low < high:
        middle = (low + high + 1) // 2
        fits = _days(tasks, middle).at(limits.max_task_delta) <= limits.max_life_epsilon
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _days(tasks: Sequence[Task], days: int) -> Spent:
    """What so many days of these tasks cost."""
    return Spent.of([(task.epsilon, task.delta) for task in tasks for _ in range(days * _a_day(task))])


def _a_day(task: Task) -> int:
    """How often a day a task is paid."""
    return 1 if task.per is Per.DAY else max(1, DAY // task.window_seconds)


def _of_day(task: Task) -> float:
    return _a_day(task) * task.epsilon


def _is_trial(task: Task) -> bool:
    return task.purpose.startswith(TRIAL)


def _latest(tasks: Iterable[Task]) -> list[Task]:
    """Of tasks with one name and measure, the one that began last."""
    found: dict[str, Task] = {}
    for task in sorted(tasks, key=lambda one: one.start):
        found[task.measure] = task
    return list(found.values())


def status_lines(status: Mapping[str, Any]) -> list[str]:
    """The document in plain sentences."""
    model, articles = status["model"], status["articles"]
    lines = [f"Articles: {', '.join(f'{count} {state}' for state, count in articles.items()) or 'none'}."]
    lines.append(_model_line(model))
    if status.get("weights") is not None:
        lines.append(weights_line(status["weights"]))
    for task in status["tasks"]:
        lost = ", ".join(f"{count} ({_NO_SUM.get(why, why)})" for why, count in task["without_sum"].items()) or 0
        lines.append(
            f"{task['name']}: {counted(task['collected'], 'window')} learnt from or measured,"
            f" {task['waiting']} waiting, {lost} without a sum; {counted(task['contributions'], 'contribution')}."
        )
    for quality in status["quality"]:
        lines += _quality_lines(quality)
    if not status["quality"]:
        lines.append("Quality: nothing was measured yet.")
    lines += [f"{row['task']}: {Guarantee.from_json(row['day'])}." for row in status["budget"]["tasks"]]
    together = status["budget"]["together"]
    if together is not None:
        lines.append(
            f"A reader who takes part in everything pays {Guarantee.from_json(together['year'])}; her device ends it"
            f" after {counted(together['days_until_cap'], 'day')}, at its cap of"
            f" ε = {together['max_life_epsilon']:g} for life."
        )
    if status["running"] is not None:
        refused = status["running"]["refused"]
        lines.append(
            f"Refused since the start: {', '.join(f'{count} × {why}' for why, count in refused.items()) or 'nothing'}."
        )
        lines += [f"{name}: {how}." for name, how in status["running"]["aggregators"].items()]
    return lines


def _model_line(model: Mapping[str, Any]) -> str:
    if model["latest"] is None:
        return "Model: nothing was learnt yet; public weights serve."
    latest = model["latest"]
    sums, versions = counted(latest["sums"], "sum"), counted(model["versions"], "version")
    line = f"Model: version {latest['version'][:12]} after {sums}, of {versions}."
    if model["rolled_back_to"] is not None:
        line += f" ROLLED BACK to {model['rolled_back_to'][:12]}, until 'discreet models lift'."
    return line


def _quality_lines(quality: Mapping[str, Any]) -> list[str]:
    lines = [f"Quality, {counted(quality['windows'], 'window')}, {Guarantee.from_json(quality['guarantee'])}:"]
    for arm in quality["arms"]:
        shown = ", ".join(f"{name} {_shown(arm[name])}" for name in ("auc", "ndcg@10", "clicks"))
        lines.append(f"  {arm['arm']}: {shown} (about {arm['readers']} readers × days with clicks)")
    return lines + [
        f"  {one['arm']} against {quality['arms'][0]['arm']}, {one['metric']}: {one['mean']:+.4f}"
        f" [{one['low']:+.4f}, {one['high']:+.4f}], {one['verdict']}"
        for one in quality["differences"]
    ]


def _shown(metric: Mapping[str, float | None]) -> str:
    return "unknown" if metric["mean"] is None else f"{metric['mean']:.4f} ± {metric['se']:.4f}"


def require_status(found: Any) -> dict[str, Any]:
    """An answer of /v1/admin/status, or an error if it is none."""
    if not isinstance(found, dict) or not {"articles", "model", "tasks", "quality", "budget"} <= set(found):
        raise DiscreetError("the server's answer is no status; is it of this version?")
    return found
