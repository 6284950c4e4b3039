"""The figures of a status (`serving.status`) for Prometheus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from prometheus_client import Gauge


class NewGauge(Protocol):
    """Makes a gauge with a name, a text and labels."""

    def __call__(self, name: str, text: str, *labels: str) -> Gauge:
        """The gauge."""
        ...


class StatusMetrics:
    """A gauge for each figure."""

    def __init__(self, gauge: NewGauge) -> None:
        self._states = gauge("discreet_articles_by_state", "Articles in each state.", "state")
        self._versions = gauge("discreet_model_versions", "Model versions there ever were.")
        self._rolled_back = gauge("discreet_rolled_back", "1 while a rollback holds.")
        self._windows = gauge("discreet_windows", "Windows of a task.", "task", "state")
        self._contributions = gauge("discreet_contributions", "Contributions to a task.", "task")
        self._quality = gauge("discreet_quality", "How good the ranking is.", "task", "arm", "metric")
        self._error = gauge("discreet_quality_standard_error", "Its error, noise included.", "task", "arm", "metric")
        self._weights = gauge("discreet_weight", "Weights of the ranking.", "feature", "which")
        self._head = gauge("discreet_head_length", "Length of the ranking's head.", "which")
        self._tests = gauge("discreet_weights_test", "Tests of learnt weights.", "test", "which")
        self._epsilon = gauge("discreet_epsilon", "What a task costs a reader.", "task", "scope")
        self._refused = gauge("discreet_reports_refused", "Reports refused since the start.", "reason")
        self._answering = gauge("discreet_aggregator_answers", "1 if an aggregator answers.", "name")

    def show(self, status: Mapping[str, Any]) -> None:
        """Take over the figures of a status (`serving.status`)."""
        for state, count in status["articles"].items():
            self._states.labels(state).set(count)
        self._versions.set(status["model"]["versions"])
        self._rolled_back.set(status["model"]["rolled_back_to"] is not None)
        for task in status["tasks"]:
            for state in ("collected", "waiting"):
                self._windows.labels(task["name"], state).set(task[state])
            self._windows.labels(task["name"], "without_sum").set(sum(task["without_sum"].values()))
            self._contributions.labels(task["name"]).set(task["contributions"])
        for quality in status["quality"]:
            for arm in quality["arms"]:
                for name in ("auc", "ndcg@10", "clicks"):
                    if arm[name]["mean"] is not None:
                        labels = quality["task"], arm["arm"], name
                        self._quality.labels(*labels).set(arm[name]["mean"])
                        self._error.labels(*labels).set(arm[name]["se"])
        if (found := status["weights"]) is not None:
            for row in found["weights"]:
                for which in ("first", "candidate", "ranking"):
                    self._weights.labels(row["feature"], which).set(row[which])
            for test, least in (("chi_squared", "max_chi_squared"), ("gain", "least_gain")):
                self._tests.labels(test, "found").set(found[test])
                self._tests.labels(test, "bound").set(found[least])
            if (head := found["head"]) is not None:
                self._tests.labels("head_chi_squared", "found").set(head["chi_squared"])
                self._tests.labels("head_chi_squared", "bound").set(head["max_chi_squared"])
                for which in ("first", "candidate", "ranking"):
                    self._head.labels(which).set(head[which])
        for row in status["budget"]["tasks"]:
            self._epsilon.labels(row["task"], "day").set(float(row["day"]["epsilon"]))
            if row["year"] is not None:
                self._epsilon.labels(row["task"], "year").set(float(row["year"]["epsilon"]))
        for reason, count in status["running"]["refused"].items():
            if not reason.startswith("HTTP "):
                self._refused.labels(reason).set(count)
        for name, how in status["running"]["aggregators"].items():
            self._answering.labels(name).set(how in ("answers", "serving"))
