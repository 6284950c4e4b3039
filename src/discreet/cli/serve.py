"""`discreet serve`: an HTTP server of a run, with its catalogue and its page."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.config_file import EXPERIMENT, use_config
from discreet.cli.durations import duration
from discreet.cli.options import AsJson, Text, print_json, say
from discreet.errors import DiscreetError, InputError
from discreet.progress import counted

if TYPE_CHECKING:
    from discreet.serving.service import Service


class HelperChoice(StrEnum):
    """Where the second aggregator is."""

    embedded = "embedded"


class ExposureChoice(StrEnum):
    """How the server knows what was shown."""

    estimated = "estimated"
    logged = "logged"


class RankingChoice(StrEnum):
    """Who ranks."""

    local = "local"
    shortlist = "shortlist"
    server = "server"


def serve(
    context: typer.Context,
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RUN]",
            help="A folder written by 'discreet train'. Without one, devices rank with public weights.",
        ),
    ] = None,
    feed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FEED",
            help="Where articles come from: RSS, Atom, JSON Feed, a news sitemap, csv or JSON lines, as a file or an"
            " http(s) address; may be given again.",
        ),
    ] = None,
    every: Annotated[
        int,
        typer.Option(parser=duration(1), metavar="DURATION", help="How often feeds are read, such as 90s, 10m or 2h."),
    ] = "10m",  # type: ignore[assignment]
    keep: Annotated[
        int,
        typer.Option(
            parser=duration(0), metavar="DURATION", help="How long an article stays listed after it has left its feed."
        ),
    ] = "2d",  # type: ignore[assignment]
    text: Text = "auto",
    data: Annotated[
        Path | None,
        typer.Option(metavar="DATA", help="A news data set that fills the catalogue on the first start."),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port to listen on; 0 for any free one.")] = 8000,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="A SQLite file or a postgresql:// URL (by default serving.sqlite in RUN, or here)."
        ),
    ] = None,
    ranking: Annotated[
        RankingChoice, typer.Option(help="Who ranks: the device (ε = 0), the device from a shortlist, or the server.")
    ] = RankingChoice.local,
    reports: Annotated[
        bool, typer.Option(help="Ask for reports, where something is learnt from them (never with --ranking local).")
    ] = True,
    report_days: Annotated[
        int, typer.Option(min=1, max=3650, help="For how many days reports are kept after they were counted.")
    ] = 90,
    diversity: Annotated[
        float,
        typer.Option(min=0, max=1, help="How much categories take turns for a reader of whom nothing is known."),
    ] = 0.3,
    admin_token_file: Annotated[
        Path | None, typer.Option(help="A file with the administrator's token; without one there is no admin API.")
    ] = None,
    epoch_days: Annotated[
        int | None,
        typer.Option(
            min=1, max=365, help="How long the public epochs last; settled at the first start (by default a week)."
        ),
    ] = None,
    rate: Annotated[
        float, typer.Option(min=0, help="Requests a second that one address may send for long; 0 for any number.")
    ] = 50.0,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CIDR",
            help="A proxy whose X-Forwarded-For is believed, such as 127.0.0.1 or 10.0.0.0/8; may be given again.",
        ),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN",
            help="A page of this origin may ask this server, such as https://www.news.example; may be given again (by"
            " default no other origin's page may).",
        ),
    ] = None,
    aggregate: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A leader's configuration: serve it, and the collector, under /dap."),
    ] = None,
    helper: Annotated[
        HelperChoice | None,
        typer.Option(
            help="For a trial: run both aggregators in this process, and make their keys. NO PROTECTION AGAINST THE"
            " PUBLISHER, who then sees everything."
        ),
    ] = None,
    exposure: Annotated[
        ExposureChoice,
        typer.Option(
            help="How often articles were shown: estimated, where devices rank the whole catalogue, or logged by you"
            " ('discreet articles shown'), where your pages show slates of your own."
        ),
    ] = ExposureChoice.estimated,
    workers: Annotated[
        int,
        typer.Option(min=1, max=256, help="How many processes answer, over one database; about one for each core."),
    ] = 1,
    quality: Annotated[
        float,
        typer.Option(
            min=0,
            max=0.9,
            help="With --helper: the share of a reader's daily ε with which devices measure how good the ranking is.",
        ),
    ] = 0.1,
    weights_share: Annotated[
        float,
        typer.Option(
            min=0,
            max=0.9,
            help="With --helper: the share of a reader's daily ε with which the weights of the ranking are learnt; 0"
            " keeps them.",
        ),
    ] = 0.0,
    head_share: Annotated[
        float,
        typer.Option(
            min=0,
            max=0.9,
            help="With --helper: the share of a reader's daily ε with which the weights and a head are learnt together,"
            " in place of --weights-share; 0 keeps the run's head, if it has one.",
        ),
    ] = 0.0,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            is_eager=True,
            callback=use_config,
            help="These options from a file, with underscores for dashes (by default discreet.toml, if it is here);"
            " a flag wins over it.",
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Check the settings and the feeds, say what was found, and end.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Serve a catalogue for devices that rank by themselves, or that send noised sketches.

    Example: discreet serve --feed https://news.example/rss.xml
    """
    from discreet.serving.workers import become_worker, share_metrics

    if workers > 1 and not check:
        share_metrics()
    from discreet.data.open import open_news
    from discreet.data.shown_articles import ShownArticles
    from discreet.files import removing_on_failure
    from discreet.serving.addresses import Proxies, listen, url_of
    from discreet.serving.feeds.fetch import shown_feed
    from discreet.serving.feeds.follow import FeedSettings
    from discreet.serving.foreign_pages import ForeignPages
    from discreet.serving.learning.public_terms import PublicTerms, public_terms
    from discreet.serving.limits import ServerLimits
    from discreet.serving.logs import configure
    from discreet.serving.model import load_served
    from discreet.serving.server import DATABASE, open_service, read_token, run_server

    if log_level not in ("debug", "info", "warning", "error"):
        raise DiscreetError(f"--log-level is debug, info, warning or error, not '{log_level}'")
    token = read_token(admin_token_file) if admin_token_file else None
    proxies, foreign = Proxies(trusted_proxy or []), ForeignPages(allow_origin or [])
    if helper is not None and aggregate is not None:
        raise DiscreetError("--helper embedded makes its own aggregators; leave --aggregate out")
    if helper is not None and workers > 1:
        raise DiscreetError("--helper embedded is a trial in one process; leave --workers out")
    if helper is not None:
        from discreet.serving.learning.one_process_trial import require_this_machine

        require_this_machine(host)
    logged = exposure is ExposureChoice.logged
    if logged and (token is None or (helper is None and aggregate is None)):
        raise DiscreetError("--exposure logged needs sums (--helper or --aggregate) and --admin-token-file, to send it")
    settings = None
    if aggregate is not None:
        from discreet.aggregation.dap.config import read_config

        settings = read_config(aggregate)
        settings = replace(settings, max_reports_of_one=-(-settings.max_reports_of_one // workers))
    if not check:
        configure(log_level)
        listener = listen(host, port)
        worker = become_worker(workers)
    terms = PublicTerms(text) if run is None else public_terms(run)
    if terms is not None:
        terms = replace(terms, quality=quality, weights_share=weights_share, head_share=head_share)
    if terms is not None and terms.unserved and not as_json:
        say(f"The head of this run is not served: {terms.unserved}.")
    experiment = context.meta.get(EXPERIMENT)
    if terms is not None and ranking is not RankingChoice.local:
        raise DiscreetError(f"--ranking {ranking.value} needs a RUN of click_reports; here devices rank by themselves")
    if check:
        _check(run, feed or [], database, config, as_json)
        return
    place = run or (Path() if database is None or "://" in database else Path(database).parent)
    made = [Path(database or place / DATABASE)]
    if helper is not None:
        from discreet.serving.learning.one_process_trial import FOLDER

        made.append(place / FOLDER)
    if settings is not None:
        made.append(Path(settings.place))
    with removing_on_failure(*made):
        sums = None
        if helper is not None:
            from discreet.serving.learning.served_sums import open_trial_sums

            sums = open_trial_sums(place, url_of(listener), terms, experiment)
        elif settings is not None:
            from discreet.serving.learning.served_sums import open_sums

            sums = open_sums(settings, proxies)
        if sums is not None:
            sums = replace(sums, logged=logged)
        service = open_service(
            run,
            load_served(run) if run is not None and terms is None else None,
            database=database,
            data=ShownArticles.of(open_news(data)) if data else None,
            ranking=ranking.value,
            reports=reports,
            may_be_empty=token is not None,
            epoch=timedelta(days=epoch_days) if epoch_days else None,
            diversity=diversity,
            report_days=report_days,
            feeds=FeedSettings(tuple(feed or ()), every, keep),
            text=text if terms is None else terms.text,
            popularity_weight=1.0 if terms is None else terms.popularity_weight,
            weights=None if terms is None else terms.weights,
            training=None if terms is None else terms.training,
            head=None if terms is None else terms.head,
            sums=() if sums is None else sums.words,
            experiment=experiment,
            tasks=() if sums is None else sums.leader.tasks,
            warning="" if sums is None else sums.warning,
        )
    worker.ready()
    if worker.speaks:
        what = str(run or ", ".join(map(shown_feed, feed or ())) or "the catalogue")
        _announce(what, url_of(listener), service, () if sums is None else sums.words, as_json)
    run_server(
        service,
        listener,
        limits=ServerLimits(rate=rate).shared_by(workers),
        proxies=proxies,
        admin_token=token,
        extend=None if sums is None else partial(sums.mount, service=service),
        foreign=foreign,
        level=log_level,
    )


def _announce(what: str, address: str, service: Service, sums: Sequence[str], as_json: bool) -> None:
    """Say where the server is, and what it promises."""
    from discreet.serving.about import of_training

    if as_json:
        print_json({"url": address, "model": service.model.version, "ranking": service.offer.ranking})
        return
    say(f"Serving {what} at {address} ({service.offer.ranking} ranking). {service.model.guarantee()}")
    for line in (*of_training(service.model), *sums):
        say(line)


def _check(run: Path | None, feeds: list[str], database: str | None, config: Path | None, as_json: bool) -> None:
    """Say what a server would start from; nothing is written."""
    from discreet.serving.feeds.fetch import shown_feed
    from discreet.serving.feeds.follow import check_feeds
    from discreet.serving.learning.public_terms import public_terms
    from discreet.serving.model import load_served

    if database is not None and "://" not in database and not Path(database).parent.is_dir():
        raise InputError(database, "the database cannot be made, because its folder does not exist")
    model = None if run is None or public_terms(run) is not None else load_served(run).version
    found = check_feeds(feeds, int(time.time()))
    if as_json:
        lines = [
            {
                "feed": shown_feed(address),
                "kind": feed.kind,
                "articles": len(feed.articles),
                "problems": list(map(str, feed.problems)),
            }
            for address, feed in found
        ]
        print_json({"config": None if config is None else str(config), "model": model, "feeds": lines})
        return
    for address, feed in found:
        say(f"{shown_feed(address)}: {feed.kind}, {counted(len(feed.articles), 'article')}")
        for problem in feed.problems:
            say(f"  {problem}")
    say(f"The settings{f' of {config}' if config else ''} are good.")
