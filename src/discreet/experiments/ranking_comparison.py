"""Methods side by side: train each once for each seed, and measure all on the same impressions.

Each measurement is stored as soon as it is done, so that an interrupted comparison goes on where it stopped.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions, NewsData
from discreet.errors import DiscreetError
from discreet.evaluation.beyond import BEYOND, beyond_accuracy
from discreet.evaluation.metrics import METRICS, RankingMetrics, ranking_metrics
from discreet.experiments.cache import MeasurementCache
from discreet.experiments.kept_trainings import KeptTrainings, classes_of
from discreet.experiments.parallel_trainings import side_by_side
from discreet.experiments.provenance import own_code
from discreet.experiments.ranking_results import Comparison, MethodResult
from discreet.methods.baselines import Baseline
from discreet.methods.method import Method, Scores, State, TrainingTask, with_serving
from discreet.methods.method_registry import has_setting, make_method, plain_settings, setting_names, settings_for
from discreet.methods.settings import settings_of
from discreet.privacy.guarantee import Guarantee
from discreet.progress import LONG_SECONDS, counted, detail, followed_by, in_short, notice, track


def variants(names: Sequence[str], settings: Mapping[str, Any], epsilons: Sequence[float]) -> Iterator[Method]:
    """Each named method once, or once for each ε where it has an ε to set.

    A setting `rate` goes to all methods that have one, `fedrec.rate` to that method alone and before the other. A tuple
    of values is a sweep: one method for each. A name or an ε that is given twice counts once.
    """
    used: set[str] = set()
    for name in names:
        used |= {key for key in settings if has_setting(name, key) or has_setting(name, key.removeprefix(f"{name}."))}
    if unknown := set(settings) - used:
        raise DiscreetError(f"none of {', '.join(names)} has a setting '{min(unknown)}'; see 'discreet list'")
    for name in dict.fromkeys(names):
        own = settings_for(name, settings)
        if "epsilon" in setting_names(name) and epsilons:
            own["epsilon"] = tuple(dict.fromkeys(epsilons))
        swept = [value if isinstance(value, tuple) else (value,) for value in own.values()]
        for chosen in itertools.product(*swept):
            yield make_method(name, dict(zip(own, chosen, strict=True)))


def compare(
    task: TrainingTask,
    methods: Sequence[Method],
    split: str,
    seeds: Sequence[int],
    cache: MeasurementCache,
    *,
    beyond: bool = False,
    jobs: int = 1,
    keep_states: bool = False,
) -> Comparison:
    """Train and measure every method with every seed on one split; `beyond` accuracy too, if asked.

    With several `jobs` trainings go side by side, each in a process of its own; what comes out is the same. Where the
    cache has a folder, a training that was interrupted goes on, and with `keep_states` none is done twice.
    """
    split_of(task.data, split)
    data = [task.data.fingerprint, task.text_identity, split]
    measured: dict[tuple[Method, int], Measurement] = {}
    keys: dict[tuple[Method, int], list[Any]] = {}
    trainings: dict[tuple[Method, int], list[Method]] = {}
    for method, seed in ((method, seed) for method in methods for seed in seeds):
        keys[method, seed] = [*data, own_code(*classes_of(method)), settings_of(method), seed]
        found = _cached(cache, method.name, keys[method, seed], METRICS + BEYOND if beyond else METRICS)
        if found is None:
            trainings.setdefault((trained_by(method), seed), []).append(method)
        else:
            measured[method, seed] = found
    todo = [_Job(training, seed, tuple(own), split, beyond) for (training, seed), own in trainings.items()]
    shared = (task, KeptTrainings(cache, keep_states))
    if jobs > 1 and len(todo) > 1:
        notice(f"{counted(len(todo), 'training')}, {min(jobs, len(todo))} at a time; {len(measured)} measured before")
        done = side_by_side(_train_and_measure, shared, todo, min(jobs, len(todo)))
    else:
        done = _one_by_one(shared, todo)
    steps = track(done, "Comparing methods", total=len(todo))
    began = time.monotonic()
    for number, (job, several) in enumerate(steps, 1):
        for method, found in zip(job.methods, several, strict=True):
            measured[method, job.seed] = found
            _keep(cache, method.name, keys[method, job.seed], found)
        remaining = len(todo) - number
        left = (time.monotonic() - began) / number * remaining
        if left > LONG_SECONDS:
            notice(f"{remaining} training{' is' if remaining == 1 else 's are'} left: about {in_short(left)}")
    variants = _variants(methods)
    results = [
        replace(result_of(method, [measured[method, seed] for seed in seeds]), variant=variants[method])
        for method in methods
    ]
    return Comparison(task.data.name, split, results, list(seeds), task.text_identity)


_Shared = tuple[TrainingTask, KeptTrainings]


@dataclass(frozen=True)
class _Job:
    """One training, and the methods that rank with it."""

    training: Method
    seed: int
    methods: tuple[Method, ...]
    split: str
    beyond: bool


def _one_by_one(shared: _Shared, todo: Sequence[_Job]) -> Iterator[tuple[_Job, list[Measurement]]]:
    """Each job in turn; the first rounds of the first say how long all may take."""
    for number, job in enumerate(todo):
        with followed_by(0 if number else len(todo) - 1):
            found = _train_and_measure(shared, job)
        yield job, found


def _train_and_measure(shared: _Shared, job: _Job) -> list[Measurement]:
    task, trainings = shared
    detail(f"{job.training.name}, seed {job.seed}: training and measuring")
    state = trainings.train(job.training, task, job.seed)
    impressions = split_of(task.data, job.split)
    return [measure(task, method, state, impressions, job.seed, beyond=job.beyond) for method in job.methods]


def trained_by(method: Method) -> Method:
    """The method without what it does after training: methods that only serve in another way share one training."""
    if is_dataclass(method) and hasattr(method, "epsilon_serving"):
        return replace(method, epsilon_serving=None)
    return method


def _variants(methods: Sequence[Method]) -> dict[Method, str]:
    """Of each method the settings in which others of its name differ, but for those with columns of their own."""
    found = {}
    for method in methods:
        own = settings_of(method)
        others = [settings_of(other) for other in methods if other.name == method.name]
        differing = [name for name in own if any(other.get(name) != own[name] for other in others)]
        shown = [f"{name}={own[name]}" for name in differing if name not in ("epsilon", "model")]
        found[method] = ", ".join(shown)
    return found


@dataclass(frozen=True)
class Measurement:
    """What one training achieved, and what it costs."""

    metrics: RankingMetrics
    guarantee: Guarantee | None
    remark: str = ""
    reused: bool = False


def measure(
    task: TrainingTask, method: Method, state: State, impressions: Impressions, seed: int, *, beyond: bool = False
) -> Measurement:
    """Rank with what was learnt, and measure the ranking; `beyond` accuracy too, if asked."""
    scores = method.score(task, state, impressions, seed)
    guarantee = with_serving(method, method.guarantee(state))
    metrics = ranking_metrics(scores, impressions)
    if beyond:
        metrics = replace(metrics, values={**metrics.values, **_beyond(task, scores, impressions, metrics)})
    return Measurement(metrics, guarantee, _remark(task, scores, impressions))


def _beyond(
    task: TrainingTask, scores: Scores, impressions: Impressions, metrics: RankingMetrics
) -> dict[str, NDArray[np.float64]]:
    """What is beyond accuracy, of the impressions that have metrics."""
    measured = impressions.select(metrics.impression)
    kept = np.isin(impressions.impression_of_shown, metrics.impression)
    clicks = np.zeros(len(task.data.articles), np.int64)
    for part in task.data.splits.values():
        np.add.at(clicks, part.shown[part.clicked], 1)
    return beyond_accuracy(scores[kept], measured, task.text_vectors.matrix, clicks)


def _remark(task: TrainingTask, scores: Scores, impressions: Impressions) -> str:
    """Why a ranking says nothing, where it does not."""
    starts = impressions.slate[:-1][impressions.slate_sizes > 0]
    if not len(starts) or (np.maximum.reduceat(scores, starts) != np.minimum.reduceat(scores, starts)).any():
        return ""
    why = "" if any(task.data.articles.titles) else "no article of this data set has a title: "
    return f"{why}all articles of a slate get the same score, so that the AUC of 0.5 is that of no ranking at all"


def result_of(method: Method, runs: Sequence[Measurement]) -> MethodResult:
    """What `method` achieved and costs, for tables and reports."""
    return MethodResult(
        method=method.name,
        model=method.model,
        epsilon=method.epsilon,
        runs=[run.metrics for run in runs],
        guarantee=runs[0].guarantee,
        baseline=isinstance(method, Baseline),
        settings=plain_settings(method),
        reused=sum(run.reused for run in runs),
        remark=runs[0].remark,
    )


def split_of(data: NewsData, split: str) -> Impressions:
    """The named split, or a clear error that says which there are."""
    if split not in data.splits:
        raise DiscreetError(f"{data.name} has no split '{split}'; it has {', '.join(data.splits)}")
    return data.splits[split]


def _cached(cache: MeasurementCache, name: str, key: Sequence[Any], wanted: Sequence[str]) -> Measurement | None:
    """The measurement of an earlier command, or None if there is none with all the metrics wanted."""
    found = cache.get(name, key)
    if found is None or not {*wanted, "impression", "reader", "left_out"} <= set(found.arrays):
        return None
    arrays, about = found
    values = {metric: arrays[metric] for metric in wanted}
    metrics = RankingMetrics(values, arrays["impression"], arrays["reader"], int(arrays["left_out"][0]))
    guarantee = about["guarantee"]
    return Measurement(metrics, Guarantee.from_json(guarantee) if guarantee else None, about["remark"], reused=True)


def _keep(cache: MeasurementCache, name: str, key: Sequence[Any], found: Measurement) -> None:
    metrics, guarantee = found.metrics, found.guarantee
    arrays: State = {**metrics.values, "impression": metrics.impression, "reader": metrics.reader}
    arrays["left_out"] = np.array([metrics.left_out])
    about = {"guarantee": guarantee.to_json() if guarantee else None, "remark": found.remark}
    cache.put(name, key, arrays, about)
