"""Methods side by side: train each once for each seed, and measure all on the same impressions.

Each measurement is stored as soon as it is done, so that an interrupted comparison goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from discreet import __version__
from discreet.data.news import Impressions, NewsData
from discreet.errors import DiscreetError
from discreet.evaluation.metrics import METRICS, RankingMetrics, ranking_metrics
from discreet.evaluation.results import Comparison, MethodResult
from discreet.files import replacing_file
from discreet.methods.base import Method, State, Task, with_serving
from discreet.methods.baselines import Baseline
from discreet.methods.registry import make_method, setting_names, settings_of
from discreet.privacy.guarantee import Guarantee
from discreet.progress import track


def variants(names: Sequence[str], settings: Mapping[str, Any], epsilons: Sequence[float]) -> Iterator[Method]:
    """Each named method once, or once for each ε where it has an ε to set.

    A setting `rate` goes to all methods that have one, `fedrec.rate` to that method alone and before the other.
    """
    known = {key for name in names for field in setting_names(name) for key in (field, f"{name}.{field}")}
    if unknown := set(settings) - known:
        raise DiscreetError(f"none of {', '.join(names)} has a setting '{min(unknown)}'; see 'discreet list'")
    for name in names:
        fields = setting_names(name)
        own = {key: value for key, value in settings.items() if key in fields}
        own |= {field: settings[f"{name}.{field}"] for field in fields if f"{name}.{field}" in settings}
        if "epsilon" in fields and epsilons:
            yield from (make_method(name, {**own, "epsilon": epsilon}) for epsilon in epsilons)
        else:
            yield make_method(name, own)


def compare(task: Task, methods: Sequence[Method], split: str, seeds: Sequence[int], store: Store) -> Comparison:
    """Train and measure every method with every seed on one split."""
    impressions = split_of(task.data, split)
    jobs = [(method, seed) for method in methods for seed in seeds]
    measured = {}
    for method, seed in track(jobs, "Comparing methods"):
        found = store.get(task, method, split, seed)
        if found is None:
            found = measure(task, method, method.train(task, seed), impressions, seed)
            store.put(task, method, split, seed, found)
        measured[method, seed] = found
    results = [result_of(method, [measured[method, seed] for seed in seeds]) for method in methods]
    return Comparison(task.data.name, split, results)


@dataclass(frozen=True)
class Measurement:
    """What one training achieved, and what it costs."""

    metrics: RankingMetrics
    guarantee: Guarantee | None


def measure(task: Task, method: Method, state: State, impressions: Impressions, seed: int) -> Measurement:
    """Rank with what was learnt, and measure the ranking."""
    scores = method.score(task, state, impressions, seed)
    return Measurement(ranking_metrics(scores, impressions), with_serving(method, method.guarantee(state)))


def result_of(method: Method, runs: Sequence[Measurement]) -> MethodResult:
    """What `method` achieved and costs, for tables and reports."""
    return MethodResult(
        method=method.name,
        model=method.model,
        epsilon=method.epsilon,
        runs=[run.metrics for run in runs],
        guarantee=runs[0].guarantee,
        baseline=isinstance(method, Baseline),
    )


def split_of(data: NewsData, split: str) -> Impressions:
    """The named split, or a clear error that says which there are."""
    if split not in data.splits:
        raise DiscreetError(f"{data.name} has no split '{split}'; it has {', '.join(data.splits)}")
    return data.splits[split]


@dataclass(frozen=True)
class Store:
    """Measurements in a folder, one small file each, found again by all that they depend on; None keeps nothing."""

    folder: Path | None

    def get(self, task: Task, method: Method, split: str, seed: int) -> Measurement | None:
        """The stored measurement, or None where there is none that can be read."""
        path = self._path(task, method, split, seed)
        if path is None or not path.exists():
            return None
        try:
            with safe_open(path, framework="numpy") as file:
                arrays = {name: file.get_tensor(name) for name in (*METRICS, "impression", "reader", "left_out")}
                told = json.loads(file.metadata()["guarantee"])
        except (SafetensorError, OSError):
            return None
        values = {metric: arrays[metric] for metric in METRICS}
        metrics = RankingMetrics(values, arrays["impression"], arrays["reader"], int(arrays["left_out"][0]))
        return Measurement(metrics, Guarantee.from_json(told) if told else None)

    def put(self, task: Task, method: Method, split: str, seed: int, found: Measurement) -> None:
        """Keep a measurement."""
        path = self._path(task, method, split, seed)
        if path is None:
            return
        metrics, guarantee = found.metrics, found.guarantee
        arrays: State = {**metrics.values, "impression": metrics.impression, "reader": metrics.reader}
        arrays["left_out"] = np.array([metrics.left_out])
        told = {"guarantee": json.dumps(guarantee.to_json() if guarantee else None)}
        with replacing_file(path) as draft:
            save_file(arrays, draft, metadata=told)

    def _path(self, task: Task, method: Method, split: str, seed: int) -> Path | None:
        if self.folder is None:
            return None
        key = [__version__, task.data.fingerprint, task.text, method.name, settings_of(method), split, seed]
        digest = hashlib.blake2b(json.dumps(key, sort_keys=True).encode(), digest_size=8).hexdigest()
        return self.folder / f"{method.name}-{digest}.safetensors"
