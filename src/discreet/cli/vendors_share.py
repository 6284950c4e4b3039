"""`discreet vendors share` and `discreet vendors read`: vendors share item statistics, and one of them uses them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import AsJson, Seed, print_json, say
from discreet.cli.vendors import parse_scale, within_scale
from discreet.errors import DiscreetError, InputError

if TYPE_CHECKING:
    from discreet.vendors.sharing.job import ShareJob


class EngineChoice(StrEnum):
    """Where the vendors' nodes are."""

    local = "local"
    flower = "flower"


def share(
    ratings: Annotated[
        Path,
        typer.Argument(
            metavar="RATINGS",
            exists=True,
            help="Ratings to deal out. With --superlink the public catalogue: a .txt file with one item a line, or"
            " ratings, of which only items and scale are used.",
        ),
    ],
    epsilon: Annotated[float, typer.Option(help="ε of a user for all that is released.")],
    vendors: Annotated[
        int | None, typer.Option(help="How many vendors there are; with --superlink as many as nodes.")
    ] = None,
    delta: Annotated[float, typer.Option(help="δ.")] = 1e-5,
    colluders: Annotated[int, typer.Option(min=0, help="How many vendors may tell another their noise.")] = 0,
    scale: Annotated[
        str | None, typer.Option(metavar="LOW,HIGH", help="The lowest and the highest rating there may be.")
    ] = None,
    name: Annotated[
        str, typer.Option(help="What this sharing is called; another name makes it another one, with its own ε.")
    ] = "sharing",
    out: Annotated[Path, typer.Option(help="File for the releases.")] = Path("releases.safetensors"),
    engine: Annotated[
        EngineChoice,
        typer.Option(help="This process (local), or Flower: its simulation, or the nodes of a --superlink."),
    ] = EngineChoice.local,
    nodes_folder: Annotated[
        Path, typer.Option(help="Without --superlink: folder for what each vendor's node keeps to itself.")
    ] = Path("vendors-nodes"),
    superlink: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="With flower: share over the nodes of this deployment ('discreet nodes')."),
    ] = None,
    patience: Annotated[
        float, typer.Option(min=0.1, help="Seconds that nodes have for each step of a round, and to come back.")
    ] = 120.0,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Vendors release item statistics together, once, with privacy of users, over the secure sum.

    Only sums over all vendors are released, and each vendor adds noise before. Interrupted, or stopped by a vendor that
    is missing, the same command goes on where it was: no question that was answered is asked again.

    Example: discreet vendors share ml-100k.zip --vendors 4 --epsilon 5
    """
    from discreet.vendors.sharing.job import ShareJob
    from discreet.vendors.sharing.releases import load_complete

    nodes = vendors_nodes(vendors, engine, superlink)
    items, ends = catalogue(ratings, scale)
    job = ShareJob(name, epsilon, delta, colluders, nodes, items, ends, seed)
    if superlink is not None:
        share_on_deployment(job, superlink, out, patience)
    else:
        share_on_one_machine(job, engine, ratings, nodes_folder, out, patience)
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
        say("A trial: the noise comes from a seed, and protects nobody.")
        say(f"Releases: {out}; each vendor reads them with: discreet vendors read {out} {nodes_folder}/node-1")
    else:
        say(f"Releases: {out}; give them to all vendors")


def read(
    releases: Annotated[Path, typer.Argument(exists=True, help="The file that 'discreet vendors share' has written.")],
    node: Annotated[Path, typer.Argument(exists=True, help="The folder of the vendor's own node.")],
    rank: Annotated[int, typer.Option(min=0, help="How many factors the vendor's own model has.")] = 24,
    iterations: Annotated[int, typer.Option(min=2, help="How many iterations it is sampled.")] = 100,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """What the releases bring to one vendor: its error on a tenth of its own ratings, without them and with them.

    Nothing leaves the vendor: it takes off its own part of the sums, and the rest is a prior in its own model.

    Example: discreet vendors read releases.safetensors vendors-nodes/node-1
    """
    from discreet.edge.vendor.own_model import gain, open_reader
    from discreet.edge.vendor.own_ratings import on_catalogue, vendor_ratings
    from discreet.nodes.configuration import read_node
    from discreet.vendors.gibbs import GibbsMF

    reader = open_reader(releases, node)
    own = on_catalogue(vendor_ratings(read_node(node)), reader.releases.job)
    found = gain(reader, own, GibbsMF(rank=rank, iterations=iterations, burn_in=iterations // 5), seed)
    if as_json:
        print_json({"tested": found.tested, "alone": found.alone, "together": found.together})
        return
    difference = found.alone - found.together
    better = f"{abs(difference):.4f} {'lower' if difference > 0 else 'higher: here alone is better'}"
    say(f"RMSE on {found.tested:,} ratings: alone {found.alone:.4f}, with the releases {found.together:.4f} ({better})")


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


def share_on_one_machine(
    job: ShareJob, engine: EngineChoice, ratings: Path, folder: Path, out: Path, patience: float
) -> None:
    """Run the job with every vendor's node in this process, each with its part of the ratings."""
    from discreet.edge.vendor.trial import hosts_in_process, trial_nodes
    from discreet.nodes import LocalNodes
    from discreet.vendors.sharing.coordinator import share_over

    trial_nodes(folder, ratings, len(job.nodes))
    hosts, roster = hosts_in_process(folder)
    if engine is EngineChoice.local:
        share_over(LocalNodes(hosts), roster, job, out, patience)
        return
    from discreet.nodes.flower.simulation import simulate

    simulate(lambda nodes: share_over(nodes, roster, job, out, patience), hosts)


def share_on_deployment(job: ShareJob, folder: Path, out: Path, patience: float) -> None:
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
        "patience": patience,
    }
    try:
        submit("discreet.vendors.sharing.coordinator:program", arguments, link)
    finally:
        description.unlink()
