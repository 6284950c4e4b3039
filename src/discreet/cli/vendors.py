"""`discreet vendors compare`: is there a reason for vendors to collaborate?"""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from discreet.cli.options import (
    AsJson,
    Format,
    Fresh,
    Seed,
    console,
    parse_epsilons,
    parse_names,
    print_json,
    report_page,
    say,
)
from discreet.errors import DiscreetError
from discreet.experiments import REPORT_FILES
from discreet.files import claim_folder
from discreet.progress import notice
from discreet.tabular import check_format

if TYPE_CHECKING:
    from discreet.data.purchases import Purchases
    from discreet.data.ratings import Ratings
    from discreet.experiments.vendor_gains import VendorGains
    from discreet.plugins import Registry
    from discreet.vendors.vendor_catalogue import Catalogue

app = typer.Typer(help="Vendors that predict ratings together.", no_args_is_help=True)


class SizesChoice(StrEnum):
    """How large vendors are."""

    equal = "equal"
    unequal = "unequal"


class DistributionChoice(StrEnum):
    """What vendors have in common."""

    horizontal = "horizontal"
    vertical = "vertical"
    arbitrary = "arbitrary"


class FeedbackChoice(StrEnum):
    """What users tell."""

    explicit = "explicit"
    implicit = "implicit"


RatingsPath = Annotated[
    Path,
    typer.Argument(
        metavar="RATINGS",
        exists=True,
        help="A MovieLens zip, folder or file, or a csv file with user, item and rating columns; for implicit feedback"
        " also a csv file with user and item, and perhaps count and time, or Globo's clicks.",
    ),
]

CatalogueFile = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        dir_okay=False,
        help="The public list of items that all vendors have agreed on, one id a line. Required with --vendor, for a"
        " list that is made of ratings shows single users.",
    ),
]
RatingScale = Annotated[
    str | None,
    typer.Option(
        metavar="LOW,HIGH",
        help="The lowest and the highest rating there may be, such as 0.5,5. Required with --vendor, for ratings.",
    ),
]


@app.callback()
def _group() -> None:
    """Vendors that predict ratings together."""


@app.command()
def compare(
    ratings: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RATINGS]",
            exists=True,
            help="Ratings to deal out: a MovieLens zip, folder or file, or a csv with user, item and rating columns.",
        ),
    ] = None,
    vendor: Annotated[
        list[Path] | None,
        typer.Option(exists=True, help="Instead of RATINGS: one vendor's own file; give it for each vendor."),
    ] = None,
    feedback: Annotated[
        FeedbackChoice, typer.Option(help="Predict stars (explicit), or recommend from purchases or clicks (implicit).")
    ] = FeedbackChoice.explicit,
    vendors: Annotated[int, typer.Option(help="How many vendors the users are dealt out to.")] = 10,
    epsilon: Annotated[
        str, typer.Option(help="Privacy budgets, separated by commas, for every method that has one.")
    ] = "1,5,10",
    methods: Annotated[
        str | None,
        typer.Option(help="Which methods, separated by commas ('discreet list' names them); default all."),
    ] = None,
    partitions: Annotated[int, typer.Option(min=1, help="How many times users are dealt out.")] = 1,
    folds: Annotated[int, typer.Option(min=1, help="1 tests a random tenth, 10 each tenth in turn.")] = 1,
    sizes: Annotated[
        SizesChoice, typer.Option(help="Vendors' sizes: all equal, or the k-th 1/k of the first.")
    ] = SizesChoice.equal,
    distribution: Annotated[
        DistributionChoice, typer.Option(help="Whether users (horizontal), items (vertical) or ratings are dealt out.")
    ] = DistributionChoice.horizontal,
    partition: Annotated[
        str,
        typer.Option(help="How vendors differ: random, genre, taste, size, or overlap=0.3 (items that all sell)."),
    ] = "random",
    reported: Annotated[
        int | None, typer.Option(min=1, help="Measure only so many vendors, the first ones (by default all).")
    ] = None,
    catalogue: CatalogueFile = None,
    scale: RatingScale = None,
    threshold: Annotated[
        float, typer.Option(help="With implicit feedback, the rating from which on a rated item counts as liked.")
    ] = 4.0,
    top: Annotated[int, typer.Option(min=1, help="With implicit feedback, k of Recall@k and nDCG@k.")] = 20,
    rank: Annotated[
        int | None, typer.Option(min=0, help="How many factors the vendors' own models have (by default by size).")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(min=2, help="How many iterations they are sampled, a fifth thrown away.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder for report.html, comparison.json and .md, plots and measurements.")
    ] = Path("vendors-report"),
    fresh: Fresh = False,
    seed: Seed = 0,
    as_json: AsJson = False,
    table_format: Format = None,
) -> None:
    """Deal ratings out to vendors, and compare ways to predict them together with each vendor alone.

    Prints RMSE, the paired gain over being alone, and the share of the gap to all ratings in one place that is closed,
    with a verdict in words; writes them with plots to OUT/report.html. With --feedback implicit items are recommended
    instead: Recall@k, nDCG@k, MRR, coverage and popularity lift over the whole catalogue, on the last fifth of each
    user's items. Interrupted, it goes on where it stopped: finished measurements are kept in OUT/measurements and used
    again as long as the code is the same. Methods that cannot take part are named with the reason.

    Example: discreet vendors compare ml-100k.zip --vendors 10 --epsilon 1,5,10 --methods local,full,sharing

    Own files: discreet vendors compare --vendor a.csv --vendor b.csv --catalogue items.txt --scale 0.5,5
    """
    check_format(table_format)
    claim_folder(out, REPORT_FILES)
    page = report_page(out)
    from dataclasses import replace

    from discreet.experiments.cache import MeasurementCache
    from discreet.experiments.implicit_comparison import compare_rankings
    from discreet.experiments.rating_comparison import Design
    from discreet.experiments.rating_comparison import compare as compare_ratings
    from discreet.experiments.report import save_report
    from discreet.vendors.dealing import Dealing
    from discreet.vendors.gibbs import GibbsMF
    from discreet.vendors.implicit.ranking_registry import METHODS as RANKING_METHODS
    from discreet.vendors.partition import RANDOM, Distribution, Sizes
    from discreet.vendors.vendor_method import Setting
    from discreet.vendors.vendor_registry import METHODS, make_methods

    implicit = feedback is FeedbackChoice.implicit
    registry: Registry[Any] = RANKING_METHODS if implicit else METHODS
    names = parse_names(methods) if methods is not None else list(registry)
    budgets = parse_epsilons(epsilon)
    design = Design(
        vendors=vendors,
        partitions=partitions,
        folds=folds,
        sizes=Sizes.EQUAL if sizes is SizesChoice.equal else Sizes.ZIPF,
        distribution=Distribution(distribution.value),
        dealing=Dealing.parse(partition),
        reported=reported,
        seed=seed,
    )
    cache = MeasurementCache(out / "measurements", fresh)
    comparison: VendorGains
    if implicit:
        opened, own = all_purchases(ratings, vendor or [], catalogue, threshold)
        if own is not None:
            design = replace(design, vendors=len(own), dealing=RANDOM, partitions=1)
        chosen, refused = make_methods(names, budgets, Setting(design.distribution, design.vendors), registry)
        comparison = compare_rankings(opened, design, cast(Any, chosen), cache, refused, own, top=top)
    else:
        rated, own = all_ratings(ratings, vendor or [], catalogue, scale)
        if own is not None:
            design = replace(design, vendors=len(own), dealing=RANDOM, partitions=1)
        chosen, refused = make_methods(names, budgets, Setting(design.distribution, design.vendors))
        sized = rank is not None or iterations is not None
        model = GibbsMF.for_size(len(rated), rank, iterations) if sized else None
        comparison = compare_ratings(rated, design, chosen, cache, refused, own, model)
    for refusal in refused:
        notice(f"refused: {refusal.method}, ε {refusal.epsilon:g}: {refusal.reason}")
    save_report(comparison, out, shlex.join(["discreet", *sys.argv[1:]]))
    if as_json:
        print_json(comparison.to_json())
        return
    if table_format is not None:
        print(comparison.formatted(table_format))
        return
    console.print(comparison.rich_table())
    say(f"{comparison.legend()} ▲▼: beyond chance (95 %). {comparison.reuse()}".rstrip())
    for sentence in comparison.verdict():
        say(sentence)
    say(f"Report: {page}")


def all_ratings(
    path: Path | None, files: list[Path], items: Path | None, scale: str | None
) -> tuple[Ratings, list[Ratings] | None]:
    """The ratings at `path`; or those of all vendors' files, and each vendor's own, with a notice of what matched."""
    from discreet.data.open import open_ratings

    check_one_source(path, files)
    if path is not None:
        return of_items(within_scale(path, open_ratings(path), scale), items), None
    return matched_files(files, open_ratings, agreed_catalogue(items, scale))


def check_one_source(path: Path | None, files: list[Path]) -> None:
    """Refuse data to deal out beside vendors' own files, and neither."""
    if (path is None) == (not files):
        raise DiscreetError("give the data to deal out, or each vendor's own file with --vendor, not both")


def all_purchases(
    path: Path | None, files: list[Path], items: Path | None, threshold: float
) -> tuple[Purchases, list[Ratings] | None]:
    """The same for purchases."""
    from discreet.data.open import open_purchases

    check_one_source(path, files)
    if path is not None:
        return cast("Purchases", of_items(open_purchases(path, threshold=threshold), items)), None
    agreed = agreed_catalogue(items, "0,1")
    whole, own = matched_files(files, lambda file: open_purchases(file, threshold=threshold), agreed)
    return cast("Purchases", whole), own


def agreed_catalogue(items: Path | None, scale: str | None) -> Catalogue:
    """What vendors have agreed on, from the options.

    Raises:
        DiscreetError: one of them is not given; nothing takes its place, for all there is are ratings.
    """
    from discreet.vendors.vendor_catalogue import Catalogue, listed_items

    if items is None:
        raise DiscreetError("--catalogue names the list of items that the vendors agreed on, such as items.txt")
    if scale is None:
        raise DiscreetError("--scale says which ratings the vendors agreed on, the lowest and the highest: --scale 1,5")
    return Catalogue(listed_items(items), parse_scale(scale))


def of_items(ratings: Ratings, items: Path | None) -> Ratings:
    """One source's ratings on the catalogue, if one is given."""
    from discreet.vendors.vendor_catalogue import Catalogue, listed_items, placed

    if items is None:
        return ratings
    listed = placed(ratings, Catalogue(listed_items(items), ratings.scale))
    if not len(listed):
        raise DiscreetError(f"{ratings.name}: nothing in it is of an item of {items}; the ids must be the same")
    return listed


def matched_files(
    files: list[Path], open_file: Callable[[Path], Ratings], agreed: Catalogue
) -> tuple[Ratings, list[Ratings]]:
    """All vendors' data together, and each vendor's own, on the agreed catalogue, with a notice of what matched."""
    from dataclasses import replace

    from discreet.vendors.own_files import on_one_catalogue, together

    own, matching = on_one_catalogue([replace(open_file(file), name=file.stem) for file in files], agreed)
    for line in matching.in_words():
        notice(line)
    return together(own), own


def within_scale(path: Path, ratings: Ratings, given: str | None) -> Ratings:
    """The ratings on the scale that was given, or on their own; noise is calibrated to its width.

    Raises:
        DiscreetError: a rating lies outside, or there is no scale to speak of.
    """
    from dataclasses import replace

    from discreet.errors import InputError

    low, high = ratings.scale
    if given is not None:
        low, high = parse_scale(given)
    elif any(ratings.items.titles) and not (low >= 0.5 and high <= 5):
        low, high = 0.5, 5.0
    outside = (ratings.value < low) | (ratings.value > high)
    if outside.any():
        first = int(outside.argmax())
        who, what = ratings.users[ratings.user[first]], ratings.items.ids[ratings.item[first]]
        problem = (
            f"user {who} rates item {what} with {ratings.value[first]:g}, outside of the scale {low:g} to {high:g}"
        )
        raise InputError(path, f"{problem}; correct it, or give another --scale")
    if low == high:
        raise InputError(path, f"all ratings are {low:g}; give the scale, such as --scale 1,5")
    return replace(ratings, scale=(low, high))


def parse_scale(given: str) -> tuple[float, float]:
    """The lowest and the highest rating from words such as 1,5."""
    try:
        low, high = (float(word) for word in given.split(","))
    except ValueError:
        low, high = 0.0, 0.0
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise DiscreetError(f"--scale takes the lowest and the highest rating, such as 1,5, not '{given}'")
    return low, high
