"""`discreet aggregate`: sums over two aggregators."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.options import AsJson, print_json, say
from discreet.errors import DiscreetError

_HELP = "Sums that nobody sees into, over aggregators that do not collude."

app = typer.Typer(help=_HELP, invoke_without_command=True)


class RoleChoice(StrEnum):
    """Which of the two aggregators."""

    leader = "leader"
    helper = "helper"


class TermsChoice(StrEnum):
    """What is summed."""

    popularity = "popularity"
    quality = "quality"
    weights = "weights"
    head = "head"


@app.callback()
def aggregate(
    context: typer.Context,
    role: Annotated[
        RoleChoice | None, typer.Option("--as", help="Run an aggregator: the leader, or the helper.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The aggregator's configuration, in TOML.")
    ] = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
) -> None:
    """Sums that nobody sees into, over aggregators that do not collude.

    Example: discreet aggregate --as helper --config helper.toml
    """
    if context.invoked_subcommand is not None:
        if role is not None or config is not None:
            raise DiscreetError("--as and --config run an aggregator; they do not go with a command")
        return
    if role is None and config is None:
        print(context.get_help())
        raise typer.Exit
    if role is None or config is None:
        raise DiscreetError("an aggregator needs both --as and --config")
    if log_level not in ("debug", "info", "warning", "error"):
        raise DiscreetError(f"--log-level is debug, info, warning or error, not '{log_level}'")
    from discreet.aggregation.dap.config import read_config
    from discreet.serving.addresses import listen, url_of
    from discreet.serving.aggregation import open_helper, open_leader, run_aggregator
    from discreet.serving.logs import configure

    settings = read_config(config)
    configure(log_level)
    aggregator = open_leader(settings) if role is RoleChoice.leader else open_helper(settings)
    listener = listen(settings.host, settings.port)
    address = url_of(listener)
    say(f"{role.value} at {address.replace('http', 'https', 1) if settings.certificate else address}:")
    for task in aggregator.tasks:
        say(f"  {task.name}: {task.guarantee()}")
    run_aggregator(aggregator, settings, listener, log_level)


@app.command()
def keygen(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it; readable for you alone.")],
    secret: Annotated[
        bool, typer.Option("--secret", help="A secret of 32 bytes, for a verification key or a token.")
    ] = False,
) -> None:
    """Make a key of an aggregator or a collector: FILE, and FILE.pub for everybody.

    Example: discreet aggregate keygen helper.key
    """
    from discreet.aggregation.dap.key_files import public_path, write_key, write_secret

    if secret:
        write_secret(file)
        say(f"{file}: a secret of 32 bytes; give it to nobody but the one other who needs it")
    else:
        key = write_key(file)
        say(f"{file}: HPKE key {key.config.id}; its public part is {public_path(file)}")


@app.command()
def collect(
    task: Annotated[Path, typer.Argument(metavar="TASK", help="The task's terms, in JSON.")],
    window: Annotated[int, typer.Option(min=0, help="The number of the window.")],
    key: Annotated[Path, typer.Option(metavar="FILE", help="The collector's key.")],
    token_file: Annotated[Path, typer.Option(metavar="FILE", help="The token that the leader knows the collector by.")],
    authorities: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Certificates to trust, besides those the system knows.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Collect the noised sum of a window. Asked again, it is the same: a window is collected once.

    Example: discreet aggregate collect clicks.json --window 7 --key collector.key --token-file collector.token
    """
    from discreet.aggregation.dap.collector import Collector, asking
    from discreet.aggregation.dap.key_files import read_key, read_task, read_token

    terms = read_task(task)
    found = Collector(read_key(key), asking(read_token(token_file), authorities)).collect(terms, window)
    if as_json:
        print_json(
            {
                "task": terms.id.hex(),
                "window": window,
                "values": found.values.tolist(),
                "contributions": found.contributions,
                "guarantee": found.guarantee.to_json(),
            }
        )
    else:
        say(f"{terms.name}, window {window}: {found.contributions} contributions. {found.guarantee}")
        say(" ".join(map(str, found.values.tolist())))


@app.command()
def terms(
    what: Annotated[
        TermsChoice,
        typer.Argument(help="Clicks by article, how good the ranking is, its weights, or weights and a head."),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the terms.")],
    leader: Annotated[str, typer.Option(metavar="URL", help="Your server, with /dap: https://news.example/dap")],
    helper: Annotated[str, typer.Option(metavar="URL", help="The other party's aggregator.")],
    epsilon: Annotated[
        float, typer.Option(min=0.001, max=10, help="What a reader's day costs; with --max-days, what a life does.")
    ],
    max_days: Annotated[
        int, typer.Option(min=0, max=36525, help="Of popularity: ε is for so many days together; 0: for each day.")
    ] = 0,
    delta: Annotated[float, typer.Option(min=1e-12, max=0.01, help="δ of so many days together.")] = 1e-6,
    window_minutes: Annotated[int, typer.Option(min=5, max=1440, help="Of popularity: how long a window is.")] = 15,
    days: Annotated[int, typer.Option(min=1, max=3650, help="For how many days.")] = 365,
    min_batch: Annotated[int, typer.Option(min=1, help="Windows with fewer contributions are not collected.")] = 100,
    experiment: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Of quality: the discreet.toml whose [experiment] has the arms."),
    ] = None,
) -> None:
    """Write the terms of a task that a server learns from, from today on; both aggregators use the same file.

    With --max-days popularity has discrete Laplace or discrete Gaussian noise, whichever is smaller for that life.

    Example: discreet aggregate terms quality --epsilon 0.1 --leader URL/dap --helper URL --out quality.json
    """
    import json
    import time
    from dataclasses import replace

    from discreet.aggregation.task import DAY
    from discreet.cli.config_file import experiment_of
    from discreet.edge.reader.sums.floors import origin_of
    from discreet.files import check_file, replacing_file
    from discreet.methods.front_page.daily_budget import DailyBudget
    from discreet.methods.front_page.learnt_weights import weights_task
    from discreet.methods.front_page.windows import popularity_task
    from discreet.privacy.guarantee import Scope
    from discreet.protocol.weight_cells import MAX_DIRECTIONS
    from discreet.serving.learning.experiment import arm_names
    from discreet.serving.learning.one_process_trial import ROOM
    from discreet.serving.learning.quality_estimates import quality_name, quality_task

    check_file(out)
    if origin_of(leader) == origin_of(helper):
        raise DiscreetError(f"--leader and --helper are both {helper}: one party that runs both sees everything")
    if max_days and what is not TermsChoice.popularity:
        raise DiscreetError(f"--max-days is for popularity; what {what.value} costs a day is its --epsilon")
    budget, life = DailyBudget(epsilon, delta, max_days, 0.0, 0.0), ""
    today = int(time.time()) // DAY * DAY
    addresses = {"start": today, "leader": leader, "helper": helper}
    if what is TermsChoice.quality:
        arms = None if experiment is None else experiment_of(experiment)
        task = quality_task(arm_names(arms), epsilon, windows=days, name=quality_name(arms), **addresses)  # type: ignore[arg-type]
    elif what in (TermsChoice.weights, TermsChoice.head):
        directions = MAX_DIRECTIONS if what is TermsChoice.head else 0
        task = weights_task(epsilon, directions=directions, windows=days, **addresses)  # type: ignore[arg-type]
    else:
        if DAY % (60 * window_minutes):
            raise DiscreetError(f"--window-minutes must divide a day, which {window_minutes} does not")
        windows = days * DAY // (60 * window_minutes)
        price = budget.popularity_price(1)
        task = popularity_task(60 * window_minutes, price, length=ROOM, windows=windows, **addresses)  # type: ignore[arg-type]
        if max_days:
            cost = budget.lifetime(max_days, 1)
            together = replace(task.guarantee(), epsilon=cost, delta=delta, scope=Scope.LIFETIME)
            life = f"; {max_days} days of a reader together: {together}"
    task = replace(task, min_batch=min_batch)
    with replacing_file(out) as draft:
        draft.write_text(json.dumps(task.to_json(), indent=2) + "\n", encoding="utf-8")
    say(f"{out}: {task.name}, {task.guarantee()}{life}")


@app.command("check-vector")
def check_vector(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Test vectors of VDAF, in its JSON form.")],
) -> None:
    """Do again what VDAF's test vectors say, and compare every byte.

    The file's name begins with the variant, as in Prio3Sum_0.json.

    Example: discreet aggregate check-vector test_vec/vdaf/Prio3*.json
    """
    from discreet.aggregation.prio3.vectors import check_vector

    for file in files:
        checked = check_vector(file)
        say(f"{file}: {checked.variant}, {checked.operations} operations as the vector says")
