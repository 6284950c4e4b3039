"""`discreet reproduce`: a table or figure of the papers, run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import AsJson, Fresh, Seed, console, print_json, say
from discreet.cli.vendors import RatingsPath, within_scale
from discreet.errors import DiscreetError
from discreet.extras import require_extra
from discreet.files import claim_folder


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
    fresh: Fresh = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Run a table or figure of the thesis on multi-vendor matrix factorization again, reported values beside ours.

    Interrupted, most go on where they stopped: finished measurements are kept in OUT/measurements and used again
    as long as the code is the same.

    Example: discreet reproduce table-1 ml-1m.zip
    """
    claim_folder(out, [f"{name}.{ending}" for ending in ("md", "json", "svg")])
    require_extra("plots")
    from discreet.data.open import open_ratings
    from discreet.evaluation.grid import Grid
    from discreet.experiments.cache import MeasurementCache
    from discreet.experiments.reproduce import EXPERIMENTS, ReproductionSettings
    from discreet.experiments.reproduce import reproduce as run_experiment

    if name not in EXPERIMENTS:
        raise DiscreetError(f"there is no experiment '{name}'; known are {', '.join(EXPERIMENTS)}")
    opened = within_scale(ratings, open_ratings(ratings), None)
    found = run_experiment(
        name, opened, ReproductionSettings(seeds, iterations, seed, MeasurementCache(out / "measurements", fresh))
    )
    found.save(out)
    if as_json:
        print_json(found.to_json())
        return
    table = Grid((found.across, "", "Reported RMSE", "Our RMSE"), title=f"{name} on {found.ratings}")
    for row in found.rows:
        reported = "–" if row.reported is None else f"{row.reported:.2f}"
        table.add(row.line, f"{row.x:g}", reported, str(row.ours))
    console.print(table)
    for remark in found.remarks:
        say(f"- {remark}")
    say(f"Written to {out}")
