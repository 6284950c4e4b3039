"""`discreet reproduce`: tables and figures of the papers, run again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import AsJson, Device, Fresh, Jobs, Seed, Text, console, print_json, say
from discreet.cli.vendors import within_scale
from discreet.errors import DiscreetError, InputError
from discreet.extras import require_extra
from discreet.files import claim_folder
from discreet.progress import counted

if TYPE_CHECKING:
    from discreet.data.ratings import Ratings
    from discreet.experiments.reproduction import Reproduced
    from discreet.methods.method import TrainingTask

_QUICK = 30
"""Iterations of the sampler where all experiments are run at small scale."""


def reproduce(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME [DATA]",
            help="Which, e.g. privaterec-table-1 or table-1 ('discreet list' names them), and a data set for it.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="All of them; DATA may then be several, news and ratings.")
    ] = False,
    scale: Annotated[
        str,
        typer.Option(help="For the news papers: small (minutes on two cores), or paper (their sizes, for their data)."),
    ] = "small",
    seeds: Annotated[
        int | None, typer.Option(min=1, help="How many times, with different seeds; by default as the scale has it.")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(min=2, help="Iterations of the thesis's sampler (by default as many as it has).")
    ] = None,
    thorough: Annotated[
        bool,
        typer.Option("--thorough", help="For the thesis: its own settings (folds, vendors, dimensions). Takes hours."),
    ] = False,
    text: Text = "auto",
    out: Annotated[Path, typer.Option(help="Folder for tables (.md, .json), plots and measurements.")] = Path(
        "reproduced"
    ),
    jobs: Jobs = 1,
    device: Device = "cpu",
    fresh: Fresh = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Run tables and figures of the papers again: the printed values next to ours, a plot, and a verdict.

    FedNewsRec and PrivateRec take a news data set, the thesis on multi-vendor matrix factorization takes ratings.
    Without DATA a generated world is used. Interrupted, the same command goes on where it stopped: measurements and
    trained models are kept in OUT/measurements and used again as long as the code is the same. What is trained, and how
    long it will take, is said on the way. --jobs and --device are for the news papers; the thesis's sampler has no use
    for them. Results of another version in OUT are replaced only with --fresh.

    Example: discreet reproduce privaterec-table-1 MINDsmall

    Example: discreet reproduce table-1 ml-1m.zip

    Example: discreet reproduce --all --scale small
    """
    given = what or []
    for path in map(Path, given if every else given[1:]):
        if not path.exists():
            raise InputError(path, "does not exist")
    require_extra("plots")
    from discreet.experiments.cache import MeasurementCache
    from discreet.experiments.papers.news_experiments import NEWS_EXPERIMENTS, reproduce_news, work_of
    from discreet.experiments.papers.scale import SCALES
    from discreet.experiments.reproduce import EXPERIMENTS, ReproductionSettings
    from discreet.experiments.reproduce import reproduce as reproduce_thesis
    from discreet.experiments.reproduction import refuse_other_version
    from discreet.progress import bars_aside, in_short, notice, track
    from discreet.training.torch_device import use_device

    use_device(device)

    known = [*NEWS_EXPERIMENTS, *EXPERIMENTS]
    if not every and not given:
        raise DiscreetError(f"name a table or figure, or say --all; there are {', '.join(known)}")
    names, paths = (known, given) if every else (given[:1], given[1:])
    if unknown := [name for name in names if name not in known]:
        raise DiscreetError(f"there is no experiment '{unknown[0]}'; known are {', '.join(known)}")
    if scale not in SCALES:
        raise DiscreetError(f"--scale is {' or '.join(SCALES)}, not '{scale}'")
    news, ratings = _sorted([Path(path) for path in paths])
    _refuse_unused(names, news, ratings, list(NEWS_EXPERIMENTS))
    claim_folder(out, [f"{name}.{ending}" for name in names for ending in ("md", "json", "svg")])
    if not fresh:
        refuse_other_version(out, names)
    cache = MeasurementCache(out / "measurements", fresh)
    thesis = ReproductionSettings(
        seeds or 1, iterations or (_QUICK if every and scale == "small" else None), seed, cache, thorough
    )
    task = _news(news, text)
    rated = _ratings(ratings) if any(name in EXPERIMENTS for name in names) else None
    work = work_of([name for name in names if name in NEWS_EXPERIMENTS], scale, seeds)
    if every:
        measured = task is None and work.seconds > 0
        long = f" (on the generated world about {in_short(work.seconds)} of one processor)" if measured else ""
        trainings = f"{counted(sum(work.trainings.values()), 'training')} of the news papers{long}"
        notice(f"{len(names)} tables and figures: {trainings}, {len(EXPERIMENTS)} experiments of the thesis")
    found: list[Reproduced] = []
    sizes = [work.trainings.get(name, 1) for name in names]
    for name in track(names, "Reproducing", sizes=sizes) if every else names:
        if name in NEWS_EXPERIMENTS:
            one: Reproduced = reproduce_news(
                name, task, scale, text=text, seed=seed, seeds=seeds, cache=cache, jobs=jobs
            )
        else:
            assert rated is not None
            one = reproduce_thesis(name, rated, thesis)
        plots = one.save(out)
        found.append(one)
        if not as_json:
            with bars_aside():
                _show(one, plots)
    if as_json:
        results = [one.to_json() for one in found]
        print_json({"experiments": results} if every else results[0])
        return
    say(f"Written to {out}")


def _sorted(paths: Sequence[Path]) -> tuple[Path | None, Path | None]:
    """The path with news and the path with ratings."""
    from discreet.data.formats.data_format import NewsFormat
    from discreet.data.formats.format_registry import recognise

    news, ratings = None, None
    for path in paths:
        if isinstance(recognise(path), NewsFormat):
            if news is not None:
                raise InputError(path, f"is news, and so is {news}; give one of them")
            news = path
        elif ratings is not None:
            raise InputError(path, f"is no news, and {ratings} was given for ratings already; give one of them")
        else:
            ratings = path
    return news, ratings


def _refuse_unused(names: Sequence[str], news: Path | None, ratings: Path | None, of_news: Sequence[str]) -> None:
    if ratings is not None and all(name in of_news for name in names):
        raise InputError(ratings, f"is no news data set, which {names[0]} needs")
    if news is not None and not any(name in of_news for name in names):
        raise InputError(news, f"is news; {names[0]} needs ratings")


def _news(path: Path | None, text: str) -> TrainingTask | None:
    """The news at a path; None without one."""
    from discreet.data.open import open_with_train
    from discreet.methods.method import TrainingTask

    return None if path is None else TrainingTask(open_with_train(path), text)


def _ratings(path: Path | None) -> Ratings:
    """The ratings at a path, or generated ones."""
    from discreet.data.open import open_ratings
    from discreet.data.synthetic.rating_world import ratings_world

    return ratings_world() if path is None else within_scale(path, open_ratings(path), None)


def _show(found: Reproduced, plots: Sequence[Path]) -> None:
    """The table, what comes out, and where the plots are."""
    from discreet.evaluation.grid import Grid

    title = f"{found.name} on {found.dataset}"
    if rows := found.table():
        grid = Grid(list(rows[0]), title=title)
        for row in rows:
            grid.add(*row.values())
        console.print(grid)
    else:
        say(title)
    for line in found.conclusions():
        say(f"- {line}")
    for plot in plots:
        say(f"Plot: {plot}")
