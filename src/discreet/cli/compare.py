"""`discreet compare`: methods side by side on one data set."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import (
    AsJson,
    Device,
    Format,
    Fresh,
    Half,
    Jobs,
    NewsPath,
    Readers,
    Seed,
    Settings,
    Split,
    Text,
    console,
    parse_epsilons,
    parse_names,
    parse_settings,
    print_json,
    report_page,
    say,
)
from discreet.errors import DiscreetError
from discreet.experiments import REPORT_FILES
from discreet.files import claim_folder
from discreet.progress import notice
from discreet.tabular import check_format


def compare(
    data: NewsPath,
    methods: Annotated[
        str | None,
        typer.Option(help="Which methods, separated by commas ('discreet list' names them); default all baselines."),
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model for the methods that train one.")] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="The methods, model, settings and budgets of a paper: fednewsrec-paper, privaterec-paper."),
    ] = None,
    settings: Settings = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="Privacy budgets, separated by commas, inf for no noise: the lifetime budget of methods with a proof,"
            " the published claim of methods as published (their true ε is printed next to it)."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many times each method is trained, with different seeds.")] = 1,
    split: Split = "dev",
    text: Text = "auto",
    metrics: Annotated[
        str, typer.Option(help="'accuracy', or 'all': with diversity, coverage and popularity lift of the first five.")
    ] = "accuracy",
    against: Annotated[
        str | None, typer.Option(help="Take paired differences from this method, and not from the best baseline.")
    ] = None,
    readers: Readers = None,
    half: Half = False,
    jobs: Jobs = 1,
    device: Device = "cpu",
    fresh: Fresh = False,
    out: Annotated[
        Path, typer.Option(help="Folder for report.html, comparison.json and .md, plots and measurements.")
    ] = Path("report"),
    seed: Seed = 0,
    as_json: AsJson = False,
    table_format: Format = None,
) -> None:
    """Train methods and compare their ranking on the same impressions.

    Prints one table with standard errors and paired differences from the best baseline, and writes it with plots to
    OUT/report.html. Interrupted, it goes on where it stopped: finished measurements are kept in OUT/measurements. A
    measurement is used again only if data, settings, seed, title vectors, code and libraries are the same.

    Example: discreet compare world --methods popularity,content,combined

    Example: discreet compare world --methods popularity --set prior_shows=1,10,100
    """
    check_format(table_format)
    if metrics not in ("accuracy", "all"):
        raise DiscreetError(f"--metrics is accuracy or all, not '{metrics}'")
    claim_folder(out, REPORT_FILES)
    page = report_page(out)
    from discreet.data.open import open_with_train
    from discreet.data.split import readers_who_train
    from discreet.experiments.cache import MeasurementCache
    from discreet.experiments.ranking_comparison import compare as run_comparison
    from discreet.experiments.ranking_comparison import variants
    from discreet.experiments.ranking_table import rich_table
    from discreet.experiments.report import save_report
    from discreet.methods.method import TrainingTask
    from discreet.methods.method_registry import BASELINES, setting_names
    from discreet.methods.published.paper_presets import paper_preset
    from discreet.training.torch_device import use_device

    use_device(device)
    given = {**parse_settings(settings, several=True), **({"model": model} if model else {})}
    budgets: Sequence[float] = parse_epsilons(epsilon)
    names = parse_names(methods) if methods is not None else list(BASELINES)
    if preset is not None:
        paper = paper_preset(preset)
        names = list(paper.methods) if methods is None else names
        given |= {f"{name}.{key}": value for name in names for key, value in paper.settings_for(name, given).items()}
        budgets = budgets or paper.epsilons
    chosen = list(variants(names, given, budgets))
    if epsilon is not None and not any("epsilon" in setting_names(name) for name in names):
        notice(f"--epsilon {epsilon} says nothing here: none of {', '.join(names)} has a budget")
    if against is not None and against not in names:
        raise DiscreetError(f"--against {against}: it is not among the methods that are compared")
    news = readers_who_train(open_with_train(data), readers, half, seed)
    comparison = run_comparison(
        TrainingTask(news, text),
        chosen,
        split,
        range(seed, seed + seeds),
        MeasurementCache(out / "measurements", fresh),
        beyond=metrics == "all",
        jobs=jobs,
    )
    comparison = comparison if against is None else comparison.against(against)
    save_report(comparison, out, shlex.join(["discreet", *sys.argv[1:]]))
    if as_json:
        print_json(comparison.to_json())
    elif table_format is not None:
        print(comparison.formatted(table_format))
    else:
        console.print(rich_table(comparison))
        say(f"Report: {page}")
