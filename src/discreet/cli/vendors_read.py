"""`discreet vendors read`: what the releases bring to one vendor, and its model of them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import AsJson, Seed, print_json, say
from discreet.errors import DiscreetError
from discreet.files import check_folder, creating_folder
from discreet.progress import counted

if TYPE_CHECKING:
    from discreet.data.ratings import Ratings
    from discreet.edge.vendor.own_model import ReleaseReader


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
    """What the releases bring to one vendor: how well it predicts its own data, without them and with them.

    Of ratings: the error on a tenth of them. Of purchases: nDCG@20 on the last fifth of each user's. Nothing leaves the
    vendor: it takes off its own part of the sums, and the rest helps its own model. With --out that model, of all its
    data, is written, with the best items for each user.

    Example: discreet vendors read releases.safetensors vendors-nodes/node-1 --out model
    """
    from discreet.edge.node.spending import Spending
    from discreet.edge.vendor.own_model import open_reader
    from discreet.edge.vendor.own_ratings import on_catalogue, vendor_ratings
    from discreet.nodes.configuration import read_node

    reader, settings = open_reader(releases, node), read_node(node)
    own = on_catalogue(vendor_ratings(settings), reader.releases.job)
    if out is not None:
        check_folder(out)
    implicit = reader.releases.job.feedback == "implicit"
    if implicit and (rank is not None or iterations is not None):
        raise DiscreetError(
            "--rank and --iterations are of the model of ratings; that of purchases is chosen by itself"
        )
    if implicit:
        result, said = read_purchases(reader, own, out, top, seed)
    else:
        result, said = read_ratings(reader, own, rank, iterations, out, top, seed)
    if out is not None:
        result |= {"out": str(out)}
    spent, limit = Spending(node / "spent", settings.max_epsilon).spent(), settings.max_epsilon
    if as_json:
        print_json(result)
        return
    say(said)
    if out is not None:
        say(f"Model: {out / 'model.safetensors'}; {result['predictions']:,} predictions: {out / 'predictions.csv'}")
    if math.isfinite(limit):
        say(f"ε of its users for life: {spent:g} spent of {limit:g}; {limit - spent:g} left for later sharings")


def read_ratings(
    reader: ReleaseReader, own: Ratings, rank: int | None, iterations: int | None, out: Path | None, top: int, seed: int
) -> tuple[dict[str, Any], str]:
    """RMSE without the releases and with them, in figures and in words; with `out` also the model and predictions."""
    from discreet.edge.vendor.own_model import gain
    from discreet.vendors.gibbs import GibbsMF
    from discreet.vendors.recommender import Recommender

    model = GibbsMF.for_size(len(own), rank, iterations)
    found = gain(reader, own, model, seed)
    result: dict[str, Any] = {"tested": found.tested, "alone": found.alone, "together": found.together}
    if out is not None:
        with creating_folder(out) as draft:
            fitted = Recommender.of(reader.predictor(own, model, seed), own)
            fitted.save(draft / "model.safetensors")
            result["predictions"] = fitted.write_recommendations(draft / "predictions.csv", top)
    return result, _in_words(f"RMSE on {counted(found.tested, 'rating')}", found.alone, found.together, worse="higher")


def read_purchases(
    reader: ReleaseReader, own: Ratings, out: Path | None, top: int, seed: int
) -> tuple[dict[str, Any], str]:
    """The same for purchases: nDCG without the releases and with them; with `out` also the model and predictions."""
    from discreet.edge.vendor.own_ranker import own_ranker, ranking_gain
    from discreet.vendors.implicit.ranker_file import save_ranker, write_rankings

    found = ranking_gain(reader, own, seed)
    result: dict[str, Any] = {"tested": 0, "alone": None, "together": None}
    said = "No user has two items, so nothing could be tested"
    if found is not None:
        result = {"tested": found.tested, "alone": found.alone, "together": found.together}
        said = _in_words(f"nDCG@20 over {counted(found.tested, 'user')}", found.alone, found.together, worse="lower")
    if out is not None:
        with creating_folder(out) as draft:
            fitted = own_ranker(reader, own, seed)
            save_ranker(fitted, draft / "model.safetensors")
            result["predictions"] = write_rankings(fitted, draft / "predictions.csv", top, own.items.titles)
    return result, said


def _in_words(what: str, alone: float, together: float, worse: str) -> str:
    if together == alone:
        return f"{what}: {alone:.4f}, alone as with the releases"
    change = "lower" if together < alone else "higher"
    better = ": here alone is better" if change == worse else ""
    return f"{what}: alone {alone:.4f}, with the releases {together:.4f} ({abs(together - alone):.4f} {change}{better})"
