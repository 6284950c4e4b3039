"""`discreet vendors share --dry-run`: the whole of it on generated data, in a folder that is removed."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from discreet.cli.options import say
from discreet.cli.vendors_share import EngineChoice, share_on_one_machine, trial_catalogue

if TYPE_CHECKING:
    from discreet.nodes import Aggregation
    from discreet.vendors.sharing.job import Feedback, ShareJob

_USERS, _ITEMS, _EACH = 60, 200, 40


def rehearse(
    epsilon: float,
    delta: float,
    vendors: int,
    feedback: Feedback,
    aggregation: Aggregation,
    engine: EngineChoice,
    timeout: float,
    seed: int,
) -> None:
    """Nodes, rounds, and one vendor's model."""
    from discreet.edge.vendor.local_nodes import trial_nodes
    from discreet.vendors.sharing.job import ShareJob
    from discreet.vendors.sharing.sharing_budget import usual_colluders

    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        said = _generate(folder / "data", vendors, feedback, seed)
        say(f"1. generated {said} for {vendors} vendors")
        nodes = tuple(range(1, vendors + 1))
        items, ends = trial_catalogue(folder / "data", None, None, feedback)
        allowed = usual_colluders(vendors)
        job = ShareJob(
            "rehearsal", epsilon, delta, allowed, nodes, tuple(items), ends, seed, feedback, aggregation=aggregation
        )
        trial_nodes(folder / "nodes", folder / "data", vendors)
        say(f"2. wrote each vendor's node with its keys, and a roster of {vendors}")
        the_way = "the secure sum" if aggregation == "secure sum" else "a leader and a helper"
        share_on_one_machine(job, engine, folder / "nodes", folder / "releases", timeout)
        say(f"3. all {vendors} vendors answered every round, summed by {the_way}: {job.guarantee()}")
        say(f"4. vendor 1 read the releases: {_read(folder, job, seed)}")
    say(
        "It works here. On your own files: discreet vendors share --vendor a.csv --vendor b.csv …"
        " --catalogue items.txt --scale 0.5,5 --epsilon ε"
    )


def _generate(folder: Path, vendors: int, feedback: Feedback, seed: int) -> str:
    from discreet.data import synthetic

    if feedback == "implicit":
        bought = synthetic.purchases_world(_USERS * vendors, _ITEMS, seed=seed)
        synthetic.write_purchases(bought, folder)
        return f"{len(bought):,} purchases of {len(bought.items)} items"
    rated = synthetic.ratings_world(_USERS * vendors, _ITEMS, _EACH * _USERS * vendors, seed=seed)
    synthetic.write_ratings(rated, folder)
    return f"{len(rated):,} ratings of {len(rated.items)} items"


def _read(folder: Path, job: ShareJob, seed: int) -> str:
    from discreet.cli.vendors_read import read_purchases, read_ratings
    from discreet.edge.vendor.own_model import open_reader
    from discreet.edge.vendor.own_ratings import on_catalogue, vendor_ratings
    from discreet.nodes.configuration import read_node

    node = folder / "nodes" / "node-1"
    reader, own = open_reader(folder / "releases", node), on_catalogue(vendor_ratings(read_node(node)), job)
    if job.feedback == "implicit":
        return read_purchases(reader, own, None, 10, seed)[1]
    return read_ratings(reader, own, 2, 30, None, 10, seed)[1]
