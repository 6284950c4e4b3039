"""`discreet evaluate`: measure a trained run."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated

import typer

from discreet.cli.options import (
    AsJson,
    Device,
    NewsPath,
    RunPath,
    Seed,
    Split,
    console,
    parse_epsilons,
    print_json,
    say,
)
from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Guarantee
from discreet.progress import counted


def evaluate(
    run: RunPath,
    data: NewsPath,
    split: Split = "dev",
    epsilon_serving: Annotated[
        str | None,
        typer.Option(
            help="Rank on the server, with what a device would send for these budgets of one release (separated by"
            " commas, inf for no noise). The same model ranking on the device, which sends nothing, is next to it."
        ),
    ] = None,
    device: Device = "cpu",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Measure a run: AUC, MRR, nDCG@5 and nDCG@10 with standard errors, and its guarantee.

    For one-shot methods the three ways to rank are measured too, and kept in the run for 'discreet serve' to show.

    Example: discreet evaluate runs/privaterec world --epsilon-serving 1,10
    """
    from discreet.data.open import open_with_train
    from discreet.evaluation.uncertainty import estimate
    from discreet.experiments.ranking_comparison import measure, result_of, split_of
    from discreet.experiments.ranking_results import Comparison
    from discreet.experiments.ranking_table import rich_table
    from discreet.files import add_to_folder
    from discreet.methods.click_reports.oneshot import OneShot
    from discreet.methods.click_reports.rankings import qualities, three_rankings
    from discreet.methods.in_rounds import InRounds
    from discreet.methods.method import TrainingTask
    from discreet.methods.published.serving import NoisedAttention
    from discreet.methods.run import Run
    from discreet.training.torch_device import use_device

    use_device(device)
    trained = Run.load(run)
    method = trained.method
    budgets = parse_epsilons(epsilon_serving, "--epsilon-serving")
    if budgets and not isinstance(method, InRounds):
        raise DiscreetError(f"{run}: {method.name} has no private serving; leave out --epsilon-serving")
    task = TrainingTask(open_with_train(data), trained.text)
    impressions = split_of(task.data, split)
    results = [result_of(method, [measure(task, method, trained.state, impressions, seed)])]
    by_unit: dict[str, list[Guarantee]] = {}
    for budget in budgets:
        assert isinstance(method, InRounds)
        served = dataclasses.replace(method, epsilon_serving=budget)
        found = measure(task, served, trained.state, impressions, seed)
        serving = served.serving(served.chosen_model.size, seed)
        result = result_of(served, [dataclasses.replace(found, guarantee=serving.guarantee())])
        results.append(dataclasses.replace(result, method=f"{method.name}, served", epsilon=budget))
        if isinstance(serving, NoisedAttention):
            by_unit[results[-1].label] = serving.guarantees()[1:]
    if isinstance(method, OneShot):
        measured = three_rankings(method, task, trained.state, impressions, seed)
        add_to_folder(run, "rankings.json", json.dumps(qualities(measured), indent=2) + "\n")
    comparison = Comparison(task.data.name, split, results, [trained.seed], task.text_identity)
    if as_json:
        units = {label: [guarantee.to_json() for guarantee in several] for label, several in by_unit.items()}
        print_json(comparison.to_json() | ({"other_guarantees": units} if units else {}))
        return
    console.print(rich_table(comparison))
    for result in results:
        for guarantee in (result.guarantee, *by_unit.get(result.label, [])):
            say(f"{result.label}: {guarantee or 'no guarantee'}")
    if isinstance(method, OneShot):
        for name, metrics in measured.items():
            on = counted(len(metrics), "impression")
            say(f"{name} ranking: AUC {estimate(metrics['auc'], metrics.reader)} on {on}")
