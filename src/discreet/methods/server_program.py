"""What the server of a deployment runs to train over nodes.

The server reads a public catalogue, and no data set with clicks. It measures an AUC only on a data set that its
operator gives for validation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.data.public_catalogue import PublicCatalogue
from discreet.errors import InputError
from discreet.methods.method import TrainingTask
from discreet.methods.method_registry import method_from_plain
from discreet.methods.node_rounds import NodeRounds
from discreet.methods.training import train_to_run
from discreet.methods.training_job import catalogue_digest
from discreet.nodes import Nodes
from discreet.plugins import name_plugins


def program(nodes: Nodes, arguments: dict[str, Any]) -> dict[str, Any]:
    """Train over the nodes of a deployment. Paths in the arguments mean the server's disk."""
    name_plugins(arguments["plugins"])
    method = method_from_plain(arguments["method"], arguments["settings"])
    paths = [Path(arguments[name]) for name in ("catalogue", "validation") if arguments[name]]
    task = server_task(*paths, text=arguments["text"])
    roster = {int(node): bytes.fromhex(key) for node, key in arguments["roster"].items()}
    over_nodes = NodeRounds(nodes, roster, arguments["timeout"], simulated=arguments["simulated"])
    run = train_to_run(
        method,
        task,
        arguments["seed"],
        Path(arguments["out"]),
        resume=arguments["resume"],
        overwrite=arguments["overwrite"],
        federation=over_nodes,
        inputs=paths,
    )
    return {"run": arguments["out"], "rounds": len(run.state["losses"])}


def server_task(catalogue: Path, validation: Path | None = None, *, text: str = "auto") -> TrainingTask:
    """What the server knows: the public catalogue, and perhaps a data set of its own to validate on.

    Raises:
        InputError: a file cannot be used, or the two do not have the same articles.
    """
    public = PublicCatalogue.read(catalogue)
    if validation is None:
        return TrainingTask(public.without_clicks(catalogue.stem), text, public_text=True)
    from discreet.data.open import open_news

    news = open_news(validation)
    if "dev" not in news.splits:
        raise InputError(validation, f"has no dev split to validate on, only {', '.join(news.splits)}")
    if catalogue_digest(news.articles) != catalogue_digest(public.articles):
        raise InputError(validation, f"does not have the same articles as {catalogue}")
    return TrainingTask(public.without_clicks(catalogue.stem, news), text, public_text=True)
