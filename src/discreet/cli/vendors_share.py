"""`discreet vendors share` and `discreet vendors read`: vendors share item statistics, and one of them uses them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import AsJson, Seed, print_json, say
from discreet.cli.vendors import (
    CatalogueFile,
    FeedbackChoice,
    RatingScale,
    agreed_catalogue,
    check_one_source,
    of_items,
    within_scale,
)
from discreet.errors import DiscreetError
from discreet.files import check_file

if TYPE_CHECKING:
    from discreet.nodes import Aggregation
    from discreet.vendors.sharing.job import Feedback, ShareJob
    from discreet.vendors.vendor_catalogue import Catalogue


class AggregationChoice(StrEnum):
    """How the vendors' answers are summed."""

    secure_sum = "secure-sum"
    two_aggregators = "two-aggregators"

    @property
    def in_job(self) -> Aggregation:
        """As a job has it."""
        return "secure sum" if self is AggregationChoice.secure_sum else "two aggregators"


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
            help="Ratings or purchases to deal out, for a trial.",
        ),
    ] = None,
    vendor: Annotated[
        list[Path] | None,
        typer.Option(exists=True, help="Instead of RATINGS: one vendor's own file; give it for each vendor."),
    ] = None,
    feedback: Annotated[
        FeedbackChoice | None,
        typer.Option(
            help="Share ratings (explicit), or purchases and clicks (implicit).", show_default="what the files have"
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Rehearse on generated data, from keys to predictions; keep nothing.")
    ] = False,
    vendors: Annotated[
        int | None, typer.Option(help="How many vendors there are; with --superlink as many as nodes.")
    ] = None,
    delta: Annotated[float, typer.Option(help="δ.")] = 1e-5,
    colluders: Annotated[
        int | None,
        typer.Option(min=0, help="How many vendors may tell another their noise (by default 1, of 3 or more)."),
    ] = None,
    catalogue: CatalogueFile = None,
    scale: RatingScale = None,
    threshold: Annotated[
        float, typer.Option(help="With implicit feedback, the rating from which on a rated item counts as liked.")
    ] = 4.0,
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
    aggregation: Annotated[
        AggregationChoice,
        typer.Option(help="Sum among the vendors (secure-sum), or by this server and a helper (two-aggregators)."),
    ] = AggregationChoice.secure_sum,
    helper: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="With --superlink and two aggregators: where the helper is ('discreet vendors helper')."
        ),
    ] = None,
    helper_authorities: Annotated[
        Path | None,
        typer.Option(metavar="FILE", exists=True, help="Certificates to trust for it, besides the system's."),
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
    """Vendors release statistics of their items together, once, with privacy of users.

    Of ratings: how items are rated, and by whom alike. Of purchases: what is bought, and what together.

    Rehearse first (--dry-run). Then give each vendor's own file (--vendor), with every vendor in a process of its own
    (--engine processes), or share over nodes on separate machines (--superlink), all on the catalogue and the scale
    that the vendors have agreed on. What is in their files changes neither. RATINGS are dealt out for a trial.

    Only sums over all vendors are released, by the secure sum or by two aggregators, and each vendor adds noise before.
    Interrupted, or stopped by a vendor that is missing, the same command goes on where it was: no question that was
    answered is asked again.

    Example: discreet vendors share ml-100k.zip --vendors 4 --epsilon 5

    Own files: discreet vendors share --vendor a.csv --vendor b.csv --catalogue items.txt --scale 0.5,5 --epsilon 5
    """
    from discreet.cli.vendors_rehearsal import rehearse
    from discreet.vendors.sharing.job import ShareJob
    from discreet.vendors.sharing.releases import load_complete
    from discreet.vendors.sharing.sharing_budget import usual_colluders

    files = vendor or []
    if dry_run:
        many, kind = vendors or max(len(files), 4), feedback_of(files, feedback)
        rehearse(epsilon, delta, many, kind, aggregation.in_job, engine, timeout, seed)
        return
    if superlink is None:
        check_one_source(ratings, files)
    elif files or ratings is not None:
        raise DiscreetError("with --superlink each vendor's own node has its data; give --catalogue and --scale only")
    check_file(out)
    by_two = aggregation is AggregationChoice.two_aggregators
    if (helper is not None) != (by_two and superlink is not None):
        raise DiscreetError(
            "--helper says where the second aggregator is: it goes with --aggregation two-aggregators and --superlink;"
            " on one machine it is started for you"
        )
    nodes = vendors_nodes(len(files) or vendors, engine, superlink)
    kind = feedback_of(files or [ratings], feedback)
    if ratings is not None:
        agreed = trial_catalogue(ratings, catalogue, scale, kind)
    else:
        agreed = agreed_catalogue(catalogue, "0,1" if kind == "implicit" else scale)
    if files:
        check_files(files, kind)
    items = tuple(agreed.items)
    allowed = usual_colluders(len(nodes)) if colluders is None else colluders
    job = ShareJob(name, epsilon, delta, allowed, nodes, items, agreed.scale, seed, kind, threshold, aggregation.in_job)
    if superlink is not None:
        share_on_deployment(job, superlink, out, timeout, helper, helper_authorities)
    else:
        from discreet.edge.vendor.local_nodes import trial_nodes, vendor_nodes

        if ratings is not None:
            trial_nodes(nodes_folder, ratings, len(nodes))
        else:
            vendor_nodes(nodes_folder, files, max_epsilon, "secure")
        share_on_one_machine(job, engine, nodes_folder, out, timeout)
    releases = load_complete(out)
    guarantee = releases.job.guarantee()
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
    if by_two:
        say(f"Were leader and helper to collude: {job.budget.guarantee_alone()}")
    if superlink is None:
        if not files:
            say("A trial: the noise comes from a seed, and protects nobody.")
        say(f"Releases: {out}; each vendor reads them with: discreet vendors read {out} {nodes_folder}/node-1")
    else:
        say(f"Releases: {out}; give them to all vendors")


def feedback_of(paths: Sequence[Path | None], given: FeedbackChoice | None) -> Feedback:
    """What is shared: what was asked for, or purchases if one of the files has no ratings."""
    from discreet.data.formats.data_format import PurchasesFormat
    from discreet.data.formats.format_registry import recognise

    if given is not None:
        return "implicit" if given is FeedbackChoice.implicit else "explicit"
    known = [recognise(path) for path in paths if path is not None]
    return "implicit" if any(isinstance(found, PurchasesFormat) for found in known) else "explicit"


def trial_catalogue(path: Path, items: Path | None, scale: str | None, feedback: Feedback) -> Catalogue:
    """Of data that is dealt out for a trial, which protects nobody: its own items and scale, unless they are given."""
    from discreet.data.open import open_feedback, open_ratings
    from discreet.vendors.vendor_catalogue import Catalogue

    if feedback == "implicit":
        return Catalogue(of_items(open_feedback(path), items).items.ids, (0.0, 1.0))
    opened = of_items(within_scale(path, open_ratings(path), scale), items)
    return Catalogue(opened.items.ids, opened.scale)


def check_files(files: list[Path], feedback: Feedback) -> None:
    """Refuse files that cannot be read or are one, before nodes are written; what users rated decides nothing here."""
    from dataclasses import replace

    from discreet.data.open import open_feedback, open_ratings
    from discreet.vendors.own_files import check_vendors

    opened = open_feedback if feedback == "implicit" else open_ratings
    check_vendors([replace(opened(file), name=file.stem) for file in files])


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
    from contextlib import ExitStack

    from discreet.cli.vendors_helper import local_helper
    from discreet.edge.vendor.local_nodes import hosts_in_process, hosts_in_processes
    from discreet.nodes import LocalNodes
    from discreet.vendors.sharing.coordinator import share_over

    apart = engine is EngineChoice.processes
    with ExitStack() as running:
        by_two = job.aggregation == "two aggregators"
        helper = running.enter_context(local_helper(folder, apart)) if by_two else None
        hosts, roster = (
            running.enter_context(hosts_in_processes(folder, timeout)) if apart else hosts_in_process(folder)
        )
        if engine is not EngineChoice.flower:
            share_over(LocalNodes(hosts), roster, job, out, timeout, helper)
            return
        from discreet.nodes.flower.simulation import simulate

        simulate(lambda nodes: share_over(nodes, roster, job, out, timeout, helper), hosts)


def share_on_deployment(
    job: ShareJob, folder: Path, out: Path, timeout: float, helper: str | None, authorities: Path | None
) -> None:
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
        "helper": helper,
        "authorities": None if authorities is None else str(authorities.resolve()),
    }
    try:
        submit("discreet.vendors.sharing.coordinator:program", arguments, link)
    finally:
        description.unlink()
