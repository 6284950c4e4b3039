"""`discreet reproduce`: a table or figure of the papers, run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from discreet.cli.options import AsJson, Seed, console, print_json, say
from discreet.cli.vendors import RatingsPath, within_scale
from discreet.errors import DiscreetError


def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which, e.g. table-1; 'discreet list' names them.")],
    ratings: RatingsPath,
    seeds: Annotated[int, typer.Option(min=1, help="How many times, with different seeds.")] = 1,
    iterations: Annotated[
        int | None, typer.Option(min=2, help="Iterations of the sampler (by default as many as the paper has).")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the table (.md, .json), the plot and measurements.")] = Path(
        "reproduced"
    ),
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Run a table or figure of the thesis on multi-vendor matrix factorization again, reported values beside ours.

    Interrupted, most go on where they stopped: finished measurements are kept in OUT/measurements.

    Example: discreet reproduce table-1 ml-1m.zip
    """
    from discreet.data.open import open_ratings
    from discreet.vendors.compare import Store
    from discreet.vendors.reproduce import EXPERIMENTS, Effort, shown
    from discreet.vendors.reproduce import reproduce as run_experiment

    if name not in EXPERIMENTS:
        raise DiscreetError(f"there is no experiment '{name}'; known are {', '.join(EXPERIMENTS)}")
    opened = within_scale(ratings, open_ratings(ratings), None)
    found = run_experiment(name, opened, Effort(seeds, iterations, seed, Store(out / "measurements")))
    found.save(out)
    if as_json:
        print_json(found.to_json())
        return
    table = Table(title=f"{name} on {found.ratings}", box=None, pad_edge=False)
    for heading in (found.across, "", "Reported RMSE", "Our RMSE"):
        table.add_column(heading, justify="left" if heading == found.across else "right")
    for row in found.rows:
        reported = "–" if row.reported is None else f"{row.reported:.2f}"
        table.add_row(row.line, f"{row.x:g}", reported, shown(row.ours))
    console.print(table)
    for remark in found.remarks:
        say(f"- {remark}")
    say(f"Written to {out}")
