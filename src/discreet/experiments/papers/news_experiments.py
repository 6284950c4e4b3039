"""The tables and figures of the news papers, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from discreet.data.synthetic.world import news_world
from discreet.errors import DiscreetError
from discreet.experiments.cache import MeasurementCache
from discreet.experiments.papers import fednewsrec_paper, privaterec_paper
from discreet.experiments.papers.cells import NewsReproduction, Plan, measure_plan
from discreet.experiments.papers.scale import Scale, scale_of
from discreet.experiments.ranking_comparison import trained_by
from discreet.methods.method import Method, TrainingTask


@dataclass(frozen=True)
class NewsExperiment:
    """What it is about, of which paper, and what it needs; None for FedNewsRec's Figure 6, which is a curve."""

    about: str
    paper: str
    plan: Callable[[Scale], Plan] | None


@dataclass(frozen=True)
class Work:
    """How many trainings there are to do, by experiment, and how many seconds of one processor all took; 0: unknown."""

    trainings: Mapping[str, int]
    seconds: float


def work_of(names: Sequence[str], scale: str, seeds: int | None = None) -> Work:
    """What several experiments have to do if nothing was done before; what two of them share is trained once."""
    known: set[tuple[Method, float]] = set()
    trainings, seconds = {}, 0.0
    for name in names:
        experiment = NEWS_EXPERIMENTS[name]
        size = scale_of(experiment.paper, scale)
        if experiment.plan is None:
            trainings[name] = len(size.fractions)
        else:
            needed = {(trained_by(cell.method), cell.readers) for cell in experiment.plan(size).cells}
            trainings[name] = len(needed - known) * (seeds or size.seeds)
            known |= needed
        seconds += trainings[name] * size.seconds
    return Work(trainings, seconds)


def reproduce_news(
    name: str,
    task: TrainingTask | None,
    scale: str,
    *,
    text: str = "auto",
    seed: int = 0,
    seeds: int | None = None,
    cache: MeasurementCache,
    jobs: int = 1,
) -> NewsReproduction:
    """Run a table or figure again: on a task, or at small scale without one on a generated world.

    `text` is where the title vectors of that world come from. With several `jobs` trainings go side by side; a curve is
    one training after the other.
    """
    experiment = NEWS_EXPERIMENTS[name]
    size = scale_of(experiment.paper, scale)
    if task is None:
        if not size.world_readers:
            raise DiscreetError(f"--scale {scale} needs the data set that the paper has, such as MINDsmall")
        task = TrainingTask(news_world(size.world_readers), text)
    drawn = range(seed, seed + (seeds or size.seeds))
    if experiment.plan is None:
        return fednewsrec_paper.figure_6(name, task, size, seed, cache)
    return measure_plan(name, task, experiment.plan(size), drawn, cache, jobs)


NEWS_EXPERIMENTS: dict[str, NewsExperiment] = {
    "fednewsrec-table-2": NewsExperiment(
        "FedNewsRec, Table 2: eleven methods, half of the readers train", "fednewsrec", fednewsrec_paper.table_2
    ),
    "fednewsrec-figure-4": NewsExperiment(
        "FedNewsRec, Figure 4: how many readers train", "fednewsrec", fednewsrec_paper.figure_4
    ),
    "fednewsrec-figure-5": NewsExperiment(
        "FedNewsRec, Figure 5: clip δ and noise λ", "fednewsrec", fednewsrec_paper.figure_5
    ),
    "fednewsrec-figure-6": NewsExperiment("FedNewsRec, Figure 6: convergence of training", "fednewsrec", None),
    "fednewsrec-figure-7": NewsExperiment(
        "FedNewsRec, Figure 7: short- and long-term interest", "fednewsrec", fednewsrec_paper.figure_7
    ),
    "privaterec-table-1": NewsExperiment(
        "PrivateRec, Table 1: training with noise", "privaterec", privaterec_paper.table_1
    ),
    "privaterec-table-2": NewsExperiment(
        "PrivateRec, Table 2: serving with noise", "privaterec", privaterec_paper.table_2
    ),
    "privaterec-figure-4": NewsExperiment(
        "PrivateRec, Figure 4: the budget of serving", "privaterec", privaterec_paper.figure_4
    ),
    "privaterec-figure-5": NewsExperiment(
        "PrivateRec, Figure 5: padding of the history", "privaterec", privaterec_paper.figure_5
    ),
    "privaterec-figure-6": NewsExperiment(
        "PrivateRec, Figure 6: the budget of training", "privaterec", privaterec_paper.figure_6
    ),
    "privaterec-figure-7": NewsExperiment(
        "PrivateRec, Figure 7: the number of basis vectors", "privaterec", privaterec_paper.figure_7
    ),
}
