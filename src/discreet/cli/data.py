"""`discreet data`: make and check data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from discreet.cli.options import AsJson, NewsPath, Overwrite, Seed, console, print_json, say
from discreet.errors import DiscreetError
from discreet.files import check_file, check_folder
from discreet.progress import counted

app = typer.Typer(help="Make and check data sets.", no_args_is_help=True)


_OPTIONS_OF = {
    "news": ("days", "articles_per_day"),
    "--ratings": ("items", "count", "skew", "half_stars"),
    "--purchases": ("items",),
}
"""What `synth` takes for each kind of data set alone."""


@app.command()
def synth(
    context: typer.Context,
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="The folder to write; it appears only when it is complete.")
    ],
    readers: Annotated[
        int, typer.Option(min=1, help="How many readers (or, with --ratings or --purchases, users).")
    ] = 5000,
    days: Annotated[
        int, typer.Option(min=1, help="How many days of impressions to train on; the day after is dev.")
    ] = 4,
    articles_per_day: Annotated[
        int | None,
        typer.Option(min=10, help="How many articles the site publishes a day; by default it grows with the readers."),
    ] = None,
    ratings: Annotated[bool, typer.Option("--ratings", help="Make ratings of films instead of news.")] = False,
    items: Annotated[int, typer.Option(min=1, help="With --ratings or --purchases: how many films or items.")] = 4000,
    count: Annotated[
        int | None, typer.Option(min=1, help="With --ratings: about how many ratings (by default 165 a user).")
    ] = None,
    skew: Annotated[
        float, typer.Option(min=0.0, help="With --ratings: how unequal films are; the k-th has (k + 60)^-SKEW.")
    ] = 1.1,
    half_stars: Annotated[bool, typer.Option("--half-stars", help="With --ratings: half stars, too.")] = False,
    purchases: Annotated[
        bool, typer.Option("--purchases", help="Make purchases in a shop (implicit feedback) instead of news.")
    ] = False,
    overwrite: Overwrite = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Generate a data set: a world of news in MIND's layout, or with --ratings ratings, or with --purchases purchases.

    The news behaves like news: readable titles whose words carry the topic, articles that age within days, skewed
    popularity, readers with several drifting interests. The same options always give the same bytes.

    Example: discreet data synth world --readers 20000

    Few users and many films: discreet data synth films --ratings --readers 610 --items 9700 --count 100000 --half-stars
    """
    if ratings and purchases:
        raise DiscreetError("--ratings and --purchases are two worlds; choose one")
    _refuse_options_of_others(context, "--ratings" if ratings else "--purchases" if purchases else "news")
    check_folder(out, overwrite=overwrite)
    from discreet.data import synthetic

    if ratings:
        try:
            made = synthetic.ratings_world(readers, items, count, half_stars=half_stars, skew=skew, seed=seed)
        except ValueError as error:
            raise DiscreetError(str(error)) from error
        synthetic.write_ratings(made, out, overwrite=overwrite)
    elif purchases:
        synthetic.write_purchases(synthetic.purchases_world(readers, items, seed=seed), out, overwrite=overwrite)
    else:
        world = synthetic.news_world(readers, train_days=days, articles_per_day=articles_per_day, seed=seed)
        synthetic.write_mind(world, out, overwrite=overwrite)
    show_counts(out, as_json)


def _refuse_options_of_others(context: typer.Context, kind: str) -> None:
    for name in sorted({name for names in _OPTIONS_OF.values() for name in names} - set(_OPTIONS_OF[kind])):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            kinds = " or ".join(other for other, names in _OPTIONS_OF.items() if name in names)
            raise DiscreetError(f"--{name.replace('_', '-')} is for {kinds}; leave it out")


@app.command()
def check(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH", exists=True, help="A news or ratings data set in any format that Discreet reads."
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Recognise a data set, validate all of it, and print its counts.

    Reads MIND, Adressa, EB-NeRD and Globo news logs, MovieLens 100K to 25M, and any csv with user and item columns,
    with ratings or without.

    Example: discreet data check MINDsmall
    """
    show_counts(path, as_json)


@app.command()
def catalogue(
    data: NewsPath,
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The csv file to write.")],
    as_json: AsJson = False,
) -> None:
    """Write what is public of a news data set: its articles, and how often each was shown in the train split.

    'discreet train --superlink' reads this file. No reader and no click is in it.

    Example: discreet data catalogue world catalogue.csv
    """
    check_file(out)
    from discreet.data.open import open_with_train
    from discreet.data.public_catalogue import PublicCatalogue

    public = PublicCatalogue.of(open_with_train(data))
    public.write(out)
    if as_json:
        print_json({"catalogue": str(out), "articles": len(public.articles), "shown": int(public.times_shown.sum())})
        return
    say(f"{out}: {counted(len(public.articles), 'article')}")


def show_counts(path: Path, as_json: bool) -> None:
    """Validate the data set at `path` and print what is in it."""
    from discreet.data.validation import check_data

    counts = check_data(path)
    if as_json:
        print_json(counts)
        return
    splits = counts.pop("splits", {})
    console.print(f"[bold]{path}[/]: valid", highlight=False)
    console.print(_counts_table(["", ""], {name: [value] for name, value in counts.items()}))
    if splits:
        names = next(iter(splits.values()))
        by_count = {name: [part[name] for part in splits.values()] for name in names}
        console.print(_counts_table(["", *splits], by_count))


def _counts_table(titles: list[str], counts: dict[str, list[Any]]) -> Table:
    table = Table(*titles, box=None, pad_edge=False, show_header=any(titles))
    for column in table.columns[1:]:
        column.justify = "right"
    for name, values in counts.items():
        table.add_row(name.replace("_", " "), *(_plain(value) for value in values))
    return table


def _plain(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return " to ".join(_plain(part) for part in value)
    return f"{value:,}" if isinstance(value, int) else str(value)
