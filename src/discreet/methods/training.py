"""From a method to a run on disk: resumable, and never over something that was not meant to be lost.

Here, or as the program of a server far away: both do the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.data.open import open_with_train
from discreet.errors import DiscreetError
from discreet.methods.in_rounds import Federated
from discreet.methods.method import Method, TrainingTask
from discreet.methods.method_registry import method_from_plain
from discreet.methods.node_rounds import NodeRounds
from discreet.methods.round_server import Federation
from discreet.methods.run import Run
from discreet.methods.run_folder import check_run_folder
from discreet.nodes import Nodes


def train_to_run(
    method: Method,
    task: TrainingTask,
    seed: int,
    out: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    federation: Federation | None = None,
    inputs: Sequence[Path] = (),
) -> Run:
    """Train and write the run to `out`; what an interruption leaves is beside it, and `resume` goes on from there.

    `inputs` is what was read, which must not lie in a run that is overwritten.
    """
    checkpoint = check_run_folder(out, resume, overwrite, inputs)
    if federation is None:
        state = method.train(task, seed, checkpoint)
    else:
        state = federated(method).train(task, seed, checkpoint, federation)
    run = Run(method, state, task.data.name, seed, task.text)
    run.save(out, overwrite=overwrite)
    checkpoint.unlink(missing_ok=True)
    return run


def federated(method: Method) -> Federated:
    """`method`, if it can train over nodes."""
    if not isinstance(method, Federated):
        raise DiscreetError(f"{method.name} does not train in rounds over readers; it cannot be trained over nodes")
    return method


def program(nodes: Nodes, arguments: dict[str, Any]) -> dict[str, Any]:
    """Train over the nodes of a deployment: what its server runs. Paths in the arguments mean the server's disk."""
    method = method_from_plain(arguments["method"], arguments["settings"])
    task = TrainingTask(open_with_train(Path(arguments["data"])), arguments["text"])
    roster = {int(node): bytes.fromhex(key) for node, key in arguments["roster"].items()}
    over_nodes = NodeRounds(nodes, roster, arguments["patience"], simulated=arguments["simulated"])
    run = train_to_run(
        method,
        task,
        arguments["seed"],
        Path(arguments["out"]),
        resume=arguments["resume"],
        overwrite=arguments["overwrite"],
        federation=over_nodes,
        inputs=[Path(arguments["data"])],
    )
    return {"run": arguments["out"], "rounds": len(run.state["losses"])}
