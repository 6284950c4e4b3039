"""`discreet retrain`: what a server has learnt, learnt again from the released sums that its database keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import AsJson, Text, print_json, say
from discreet.errors import DiscreetError
from discreet.progress import counted


def retrain(
    run: Annotated[
        Path | None,
        typer.Argument(metavar="[RUN]", help="The run of front_page that is served; none, if none is."),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The server's database (by default serving.sqlite in RUN, or here)."),
    ] = None,
    text: Text = "auto",
    as_json: AsJson = False,
) -> None:
    """Learn again from the released sums of the last 30 days: popularity, weights and head, as one model version.

    For another text source, another run, or a new version of Discreet. No reader is asked, and it costs no ε. Stop the
    server first, unless its model stays the same. 'discreet models rollback' goes back.

    Example: discreet retrain --database serving.sqlite --text hashed
    """
    from discreet.database import using_database
    from discreet.serving.learning.public_terms import PublicTerms, public_terms
    from discreet.serving.learning.retrain import retrain as learn_anew
    from discreet.serving.learning.retrain import taught_by
    from discreet.serving.server import DATABASE, open_service

    place = database if database is not None else str((run or Path()) / DATABASE)
    if "://" not in place and not Path(place).is_file():
        raise DiscreetError(f"{place}: there is no such database")
    terms = PublicTerms(text) if run is None else public_terms(run)
    if terms is None:
        raise DiscreetError(f"{run}: sums teach popularity to front_page only; its label reports count by themselves")
    with using_database(place):
        service = open_service(
            run,
            None,
            database=place,
            text=terms.text,
            popularity_weight=terms.popularity_weight,
            weights=terms.weights,
            training=terms.training,
            head=terms.head,
            tasks=taught_by(place),
            reports=False,
        )
        try:
            done = learn_anew(service)
        finally:
            service.close()
    if as_json:
        print_json(vars(done))
        return
    say(f"Model {done.model}: version {done.version} was learnt from {counted(done.sums, 'sum')}.")
    if done.before is not None:
        say(f"To go back: discreet models rollback {done.before[:12]}")
