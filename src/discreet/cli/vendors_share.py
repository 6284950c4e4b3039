"""`discreet vendors share` and `discreet vendors read`: vendors share item statistics, and one of them uses them."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import AsJson, Seed, print_json, say
from discreet.cli.vendors import parse_scale, within_scale
from discreet.errors import DiscreetError, InputError
from discreet.files import check_folder, creating_folder

if TYPE_CHECKING:
    from discreet.vendors.sharing.job import ShareJob


class EngineChoice(StrEnum):
    """Where the vendors' nodes are."""

    local = "local"
    processes = "processes"
    flower = "flower"


def share(
    epsilon: Annotated[float, typer.Option(help="ε of a user for all that is released.")],
    ratings: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RATINGS]",
            exists=True,
            help="Ratings to deal out. With --superlink the public catalogue: a .txt file with one item a line, or"
            " ratings, of which only items and scale are used.",
        ),
    ] = None,
    vendor: Annotated[
        list[Path] | None,
        typer.Option(exists=True, help="Instead of RATINGS: one vendor's own file; give it for each vendor."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Rehearse on generated ratings, from keys to predictions; keep nothing.")
    ] = False,
    vendors: Annotated[
        int | None, typer.Option(help="How many vendors there are; with --superlink as many as nodes.")
    ] = None,
    delta: Annotated[float, typer.Option(help="δ.")] = 1e-5,
    colluders: Annotated[
        int | None,
        typer.Option(min=0, help="How many vendors may tell another their noise (by default 1, of 3 or more)."),
    ] = None,
    scale: Annotated[
        str | None, typer.Option(metavar="LOW,HIGH", help="The lowest and the highest rating there may be.")
    ] = None,
    name: Annotated[
        str, typer.Option(help="What this sharing is called; another name makes it another one, with its own ε.")
    ] = "sharing",
    out: Annotated[Path, typer.Option(help="File for the releases.")] = Path("releases.safetensors"),
    engine: Annotated[
        EngineChoice,
        typer.Option(
            help="This process (local), a process for each vendor (processes), or Flower: its simulation, or the nodes"
            " of a --superlink."
        ),
    ] = EngineChoice.local,
    nodes_folder: Annotated[
        Path, typer.Option(help="Without --superlink: folder for what each vendor's node keeps to itself.")
    ] = Path("vendors-nodes"),
    superlink: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="With flower: share over the nodes of this deployment ('discreet nodes')."),
    ] = None,
    max_epsilon: Annotated[
        float,
        typer.Option(min=0.01, help="With --vendor: ε that each vendor's node allows for life, over all sharings."),
    ] = 10.0,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds that nodes have for each step of a round, and to come back.")
    ] = 120.0,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Vendors release item statistics together, once, with privacy of users, over the secure sum.

    Rehearse first (--dry-run). Then give each vendor's own file (--vendor), with every vendor in a process of its own
    (--engine processes), or share over nodes on separate machines (--superlink). RATINGS are dealt out for a trial.

    Only sums over all vendors are released, and each vendor adds noise before. Interrupted, or stopped by a vendor that
    is missing, the same command goes on where it was: no question that was answered is asked again.

    Example: discreet vendors share ml-100k.zip --vendors 4 --epsilon 5

    Own files: discreet vendors share --vendor a.csv --vendor b.csv --vendor c.csv --epsilon 5 --engine processes
    """
    from discreet.vendors.sharing.job import ShareJob
    from discreet.vendors.sharing.releases import load_complete
    from discreet.vendors.sharing.sharing_budget import usual_colluders

    files = vendor or []
    if dry_run:
        rehearse(epsilon, delta, vendors or max(len(files), 4), engine, timeout, seed)
        return
    if (ratings is None) == (not files):
        raise DiscreetError("give the ratings to deal out, or each vendor's own file with --vendor, not both")
    if files and superlink is not None:
        raise DiscreetError("with --superlink each vendor's own node has its file; give the catalogue instead")
    nodes = vendors_nodes(len(files) or vendors, engine, superlink)
    items, ends = catalogue(ratings, scale) if ratings is not None else catalogue_of_files(files, scale)
    allowed = usual_colluders(len(nodes)) if colluders is None else colluders
    job = ShareJob(name, epsilon, delta, allowed, nodes, items, ends, seed)
    if superlink is not None:
        share_on_deployment(job, superlink, out, timeout)
    else:
        from discreet.edge.vendor.local_nodes import trial_nodes, vendor_nodes

        if ratings is not None:
            trial_nodes(nodes_folder, ratings, len(nodes))
        else:
            vendor_nodes(nodes_folder, files, max_epsilon, "secure")
        share_on_one_machine(job, engine, nodes_folder, out, timeout)
    releases = load_complete(out)
    guarantee = releases.job.budget.guarantee()
    rounds = [
        {"kind": type(a.round).__name__.lower(), "share": a.round.share, "values": len(a.total)}
        for a in releases.answers()
    ]
    if as_json:
        result = {"out": str(out), "vendors": len(nodes), "items": len(items), "rounds": rounds}
        print_json({**result, "catalogue": job.catalogue_digest, "guarantee": guarantee.to_json()})
        return
    for number, asked in enumerate(rounds, 1):
        say(f"round {number}: {asked['kind']}, {asked['values']:,} sums, {asked['share']:.0%} of the budget")
    say(f"{len(nodes)} vendors, {guarantee}")
    if superlink is None:
        if not files:
            say("A trial: the noise comes from a seed, and protects nobody.")
        say(f"Releases: {out}; each vendor reads them with: discreet vendors read {out} {nodes_folder}/node-1")
    else:
        say(f"Releases: {out}; give them to all vendors")


def read(
    releases: Annotated[Path, typer.Argument(exists=True, help="The file that 'discreet vendors share' has written.")],
    node: Annotated[Path, typer.Argument(exists=True, help="The folder of the vendor's own node.")],
    rank: Annotated[
        int | None, typer.Option(min=0, help="How many factors the vendor's own model has (by default by size).")
    ] = None,
    iterations: Annotated[int | None, typer.Option(min=2, help="How many iterations it is sampled.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for model.safetensors and predictions.csv, the best items for each of its users."),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many items for each user in predictions.csv.")] = 10,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """What the releases bring to one vendor: its error on a tenth of its own ratings, without them and with them.

    Nothing leaves the vendor: it takes off its own part of the sums, and the rest is a prior in its own model. With
    --out that model, of all its ratings, is written, with predictions.

    Example: discreet vendors read releases.safetensors vendors-nodes/node-1 --out model
    """
    from discreet.edge.node.spending import Spending
    from discreet.edge.vendor.own_model import gain, open_reader
    from discreet.edge.vendor.own_ratings import on_catalogue, vendor_ratings
    from discreet.nodes.configuration import read_node
    from discreet.vendors.gibbs import GibbsMF
    from discreet.vendors.recommender import Recommender

    reader, settings = open_reader(releases, node), read_node(node)
    own = on_catalogue(vendor_ratings(settings), reader.releases.job)
    model = GibbsMF.for_size(len(own), rank, iterations)
    found = gain(reader, own, model, seed)
    result: dict[str, Any] = {"tested": found.tested, "alone": found.alone, "together": found.together}
    if out is not None:
        check_folder(out)
        with creating_folder(out) as draft:
            fitted = Recommender.of(reader.predictor(own, model, seed), own)
            fitted.save(draft / "model.safetensors")
            lines = fitted.write_recommendations(draft / "predictions.csv", top)
        result |= {"out": str(out), "predictions": lines}
    spent, limit = Spending(node / "spent", settings.max_epsilon).spent(), settings.max_epsilon
    if as_json:
        print_json(result)
        return
    difference = found.alone - found.together
    better = f"{abs(difference):.4f} {'lower' if difference > 0 else 'higher: here alone is better'}"
    say(f"RMSE on {found.tested:,} ratings: alone {found.alone:.4f}, with the releases {found.together:.4f} ({better})")
    if out is not None:
        say(f"Model: {out / 'model.safetensors'}; {lines:,} predictions: {out / 'predictions.csv'}")
    if math.isfinite(limit):
        say(f"ε of its users for life: {spent:g} spent of {limit:g}; {limit - spent:g} left for later sharings")


def catalogue(path: Path, scale: str | None) -> tuple[tuple[str, ...], tuple[float, float]]:
    """The items and the scale that all vendors agree on, from a list of items or from ratings."""
    from discreet.data.open import open_ratings
    from discreet.vendors.sharing.vendor_catalogue import listed_items

    if path.suffix == ".txt":
        if scale is None:
            raise InputError(
                path, "a list of items does not say how they are rated; give the scale, such as --scale 1,5"
            )
        return listed_items(path), parse_scale(scale)
    opened = within_scale(path, open_ratings(path), scale)
    return tuple(opened.items.ids), opened.scale


def vendors_nodes(vendors: int | None, engine: EngineChoice, superlink: Path | None) -> tuple[int, ...]:
    """The numbers of the vendors' nodes: those of the deployment, or from 1 on."""
    from discreet.nodes.configuration import read_roster

    if superlink is None:
        if vendors is None:
            raise DiscreetError("--vendors says how many vendors the users are dealt out to")
        return tuple(range(1, vendors + 1))
    if engine is EngineChoice.local:
        raise DiscreetError("--superlink says where the nodes are: it goes with --engine flower")
    nodes = tuple(read_roster(superlink / "roster.json"))
    if vendors not in (None, len(nodes)):
        raise DiscreetError(f"{superlink}: its roster has {len(nodes)} nodes, not {vendors}")
    return nodes


def share_on_one_machine(job: ShareJob, engine: EngineChoice, folder: Path, out: Path, timeout: float) -> None:
    """Run the job with the nodes of `folder`: in this process, or each in one of its own."""
    from discreet.edge.vendor.local_nodes import hosts_in_process, hosts_in_processes
    from discreet.nodes import LocalNodes
    from discreet.vendors.sharing.coordinator import share_over

    if engine is EngineChoice.processes:
        with hosts_in_processes(folder, timeout) as (hosts, roster):
            share_over(LocalNodes(hosts), roster, job, out, timeout)
        return
    hosts, roster = hosts_in_process(folder)
    if engine is EngineChoice.local:
        share_over(LocalNodes(hosts), roster, job, out, timeout)
        return
    from discreet.nodes.flower.simulation import simulate

    simulate(lambda nodes: share_over(nodes, roster, job, out, timeout), hosts)


def catalogue_of_files(files: list[Path], scale: str | None) -> tuple[tuple[str, ...], tuple[float, float]]:
    """The union of the vendors' items, with a notice of what matched, and the widest of their scales."""
    from discreet.cli.vendors import all_ratings

    opened, _ = all_ratings(None, files, scale)
    return tuple(opened.items.ids), opened.scale


def rehearse(epsilon: float, delta: float, vendors: int, engine: EngineChoice, timeout: float, seed: int) -> None:
    """The whole of it on generated ratings in a folder that is removed: nodes, rounds, one vendor's predictions."""
    from tempfile import TemporaryDirectory

    from discreet.data.synthetic.rating_world import ratings_world, write_ratings
    from discreet.edge.vendor.local_nodes import trial_nodes
    from discreet.edge.vendor.own_model import gain, open_reader
    from discreet.edge.vendor.own_ratings import on_catalogue, vendor_ratings
    from discreet.nodes.configuration import read_node
    from discreet.vendors.gibbs import GibbsMF
    from discreet.vendors.sharing.job import ShareJob
    from discreet.vendors.sharing.sharing_budget import usual_colluders

    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        world = ratings_world(60 * vendors, 200, 40 * 60 * vendors, seed=seed)
        write_ratings(world, folder / "ratings")
        say(f"1. generated {len(world):,} ratings of {len(world.items)} items for {vendors} vendors")
        nodes = tuple(range(1, vendors + 1))
        items, ends = catalogue(folder / "ratings", None)
        job = ShareJob("rehearsal", epsilon, delta, usual_colluders(vendors), nodes, items, ends, seed)
        trial_nodes(folder / "nodes", folder / "ratings", vendors)
        say(f"2. wrote each vendor's node with its keys, and a roster of {vendors}")
        share_on_one_machine(job, engine, folder / "nodes", folder / "releases", timeout)
        say(f"3. all {vendors} vendors answered every round over the secure sum: {job.budget.guarantee()}")
        reader = open_reader(folder / "releases", folder / "nodes" / "node-1")
        own = on_catalogue(vendor_ratings(read_node(folder / "nodes" / "node-1")), job)
        found = gain(reader, own, GibbsMF(rank=2, iterations=30, burn_in=10), seed)
        say(f"4. vendor 1 read the releases: RMSE alone {found.alone:.4f}, with them {found.together:.4f}")
    say("It works here. On your own files: discreet vendors share --vendor a.csv --vendor b.csv … --epsilon ε")


def share_on_deployment(job: ShareJob, folder: Path, out: Path, timeout: float) -> None:
    """Run the job on the SuperLink of a deployment; the server's disk is this one's."""
    from discreet.files import replacing_file
    from discreet.nodes.configuration import read_roster
    from discreet.nodes.flower.deployment import SuperLink, submit

    link, description = SuperLink.of(folder), out.with_name(f"{out.name}.job")
    with replacing_file(description) as draft:
        draft.write_bytes(job.to_bytes())
    arguments = {
        "job": str(description.resolve()),
        "roster": {str(number): key.hex() for number, key in read_roster(folder / "roster.json").items()},
        "out": str(out.resolve()),
        "timeout": timeout,
    }
    try:
        submit("discreet.vendors.sharing.coordinator:program", arguments, link)
    finally:
        description.unlink()
