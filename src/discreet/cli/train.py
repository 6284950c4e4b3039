"""`discreet train`: train one method and keep it as a run."""

from __future__ import annotations

from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import (
    AsJson,
    Device,
    Half,
    Overwrite,
    Readers,
    Seed,
    Settings,
    Text,
    parse_epsilons,
    parse_settings,
    paths_of,
    print_json,
    say,
)
from discreet.errors import DiscreetError, InputError
from discreet.methods.run_folder import check_run_folder
from discreet.plugins import named_plugins

if TYPE_CHECKING:
    from discreet.methods.method import Method
    from discreet.methods.round_server import Federation
    from discreet.methods.run import Run


class Engine(StrEnum):
    """What carries a training: this process, or Flower."""

    LOCAL = "local"
    FLOWER = "flower"


def train(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            exists=True,
            help="A news data set in its official layout (MIND, Adressa, EB-NeRD, Globo). With --superlink a public"
            " catalogue ('discreet data catalogue').",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="RUN", help="The folder that the run is written to.")],
    method: Annotated[
        str | None, typer.Option(help="How to train; 'discreet list' names the methods and their settings.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model to train; 'discreet list' names the models and their settings.")
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="The model's sizes: small, or as published. Or all settings of a paper: fednewsrec-paper,"
            " privaterec-paper ('discreet list' shows them)."
        ),
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="How many rounds to train.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="The privacy budget of training; inf for no noise.")] = None,
    calibration: Annotated[
        str | None, typer.Option(help="Noise scaled to what is true (exact) or as the paper printed it (paper).")
    ] = None,
    settings: Settings = None,
    text: Text = "auto",
    readers: Readers = None,
    half: Half = False,
    device: Device = "cpu",
    engine: Annotated[
        Engine, typer.Option(help="This process (local), or Flower: its simulation, or the nodes of a --superlink.")
    ] = Engine.LOCAL,
    nodes: Annotated[
        int | None, typer.Option(min=2, help="Divide the readers among so many nodes, joined by secure sums.")
    ] = None,
    superlink: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            exists=True,
            help="With flower: train over the nodes of this deployment ('discreet nodes').",
        ),
    ] = None,
    validate: Annotated[
        Path | None,
        typer.Option(
            metavar="DATA",
            exists=True,
            help="With --superlink: show the AUC on the dev split of this data set, which the server then reads.",
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that nodes have for each step of a round.")] = 120.0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a training that was interrupted.")] = False,
    overwrite: Overwrite = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Train a method on the train split and write it as a run: settings, weights, curve and guarantee.

    Interrupted (Ctrl-C, or worse), the last finished rounds stay in RUN.checkpoint; --resume goes on from there and
    ends with the same weights as a training that was never interrupted.

    With --nodes or --engine flower the readers are divided among nodes, and the server sees secure sums over nodes
    alone. The same number of nodes and the same seed give the same weights, whoever carries the messages.

    With --superlink the server reads no clicks: DATA is a public catalogue, and an AUC is shown only with --validate.

    Example: discreet train world --method privaterec --model nrms --rounds 200 --epsilon 10 --out runs/privaterec

    Example: discreet train world --method dp_fedavg --epsilon 3 --engine flower --nodes 4 --out runs/dp
    """
    inputs = [data, *([validate] if validate else []), *paths_of(text)]
    check_run_folder(out, resume, overwrite, inputs)
    from discreet.data.open import open_with_train
    from discreet.data.split import readers_who_train
    from discreet.edge.node.in_process import hosts_in_process, on_one_machine
    from discreet.methods.method import TrainingTask
    from discreet.methods.method_registry import make_method
    from discreet.methods.node_rounds import NodeRounds
    from discreet.methods.published.paper_presets import PAPER_PRESETS, paper_preset
    from discreet.methods.run import Run
    from discreet.methods.training import federated, train_to_run
    from discreet.training.torch_device import use_device

    use_device(device)
    paper = PAPER_PRESETS.get(preset or "")
    if method is None and paper is None and preset is not None:
        papers = ", ".join(PAPER_PRESETS)
        raise DiscreetError(f"--preset {preset} is of no paper ({papers}), so say how to train: --method")
    if method is None and paper is None:
        raise DiscreetError("say how to train: --method, or a paper's --preset; 'discreet list' names both")
    given = {"model": model, "rounds": rounds, "calibration": calibration, **parse_settings(settings)}
    chosen_settings = {name: value for name, value in given.items() if value is not None}
    if paper is not None:
        method = method or paper.methods[0]
        chosen_settings = paper.settings_for(method, chosen_settings)
    elif preset is not None:
        if get_close_matches(preset, PAPER_PRESETS):
            paper_preset(preset)  # a typing error in a paper's name: say which there are
        chosen_settings["preset"] = preset
    if budgets := parse_epsilons(epsilon):
        if len(budgets) > 1:
            raise DiscreetError(f"--epsilon takes one budget to train with, not '{epsilon}'; 'compare' takes several")
        chosen_settings["epsilon"] = budgets[0]
    assert method is not None
    chosen = make_method(method, chosen_settings)
    if superlink is not None and (readers is not None or half):
        raise DiscreetError("--readers and --half choose among the readers of a data set; nodes have their own")
    if superlink is not None and (engine is Engine.LOCAL or nodes is not None):
        raise DiscreetError("--superlink says which nodes there are: it goes with --engine flower, without --nodes")
    if superlink is None and validate is not None:
        raise DiscreetError("--validate goes with --superlink; otherwise the AUC is shown on the dev split of DATA")
    if nodes is not None or engine is Engine.FLOWER:
        federated(chosen)
    if superlink is not None:
        _on_deployment(chosen, superlink, data, validate, text, seed, out, resume, overwrite, timeout)
        return _tell(Run.load(out), out, as_json)
    task = TrainingTask(readers_who_train(open_with_train(data), readers, half, seed), text)

    def trained(federation: Federation | None) -> Run:
        how = {"resume": resume, "overwrite": overwrite}
        return train_to_run(chosen, task, seed, out, **how, federation=federation, inputs=inputs)

    if engine is Engine.FLOWER:
        from discreet.nodes.flower.simulation import simulate

        hosts, roster = hosts_in_process(task, nodes or 4)
        run = simulate(lambda over: trained(NodeRounds(over, roster, timeout, simulated=True)), hosts)
    else:
        run = trained(on_one_machine(task, nodes) if nodes else None)
    return _tell(run, out, as_json)


def _on_deployment(
    method: Method,
    folder: Path,
    catalogue: Path,
    validation: Path | None,
    text: str,
    seed: int,
    out: Path,
    resume: bool,
    overwrite: bool,
    timeout: float,
) -> None:
    """Have the deployment's server train, which writes the run to `out`."""
    from discreet.data.public_catalogue import PublicCatalogue
    from discreet.methods.method_registry import plain_settings
    from discreet.nodes.configuration import read_node, read_roster
    from discreet.nodes.flower.deployment import SuperLink, submit

    if catalogue.is_dir():
        public = f"discreet data catalogue {catalogue} catalogue.csv"
        raise InputError(catalogue, f"the server takes a public catalogue, not a data set; make one: {public}")
    PublicCatalogue.read(catalogue)
    here = [read_node(node) for node in sorted(folder.glob("node-*"))]
    arguments = {
        "method": method.name,
        "settings": plain_settings(method),
        "catalogue": str(catalogue.resolve()),
        "validation": str(validation.resolve()) if validation else None,
        "plugins": named_plugins(),
        "text": str(Path(text).resolve()) if Path(text).exists() else text,
        "seed": seed,
        "out": str(out.resolve()),
        "resume": resume,
        "overwrite": overwrite,
        "timeout": timeout,
        "roster": {str(node): key.hex() for node, key in read_roster(folder / "roster.json").items()},
        "simulated": any(node.noise == "simulated" for node in here),
    }
    submit("discreet.methods.server_program:program", arguments, SuperLink.of(folder))


def _tell(run: Run, out: Path, as_json: bool) -> None:
    from discreet.methods.in_rounds import Federated

    guarantee = run.method.guarantee(run.state)
    other = run.method.other_guarantee(run.state) if isinstance(run.method, Federated) else None
    if as_json:
        result = {"run": str(out), "method": run.method.name, "guarantee": guarantee.to_json() if guarantee else None}
        print_json(result | ({"other_guarantee": other.to_json()} if other else {}))
        return
    say(f"Run: {out}")
    say(f"Guarantee of training: {guarantee or 'none, clicks are collected'}")
    if other:
        say(f"The same training: {other}")
