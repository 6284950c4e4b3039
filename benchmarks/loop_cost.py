"""What the loop costs a publisher and a helper in a month: sizes and processor times that were measured, times prices.

Sizes are those of real messages, made here: a report of the popularity task, the list of a catalogue with its pages,
and the script. Processor times of leader and helper are those of `bench_dap.py` for a vector of 1,000 values, and of a
request those of `bench_serving.py` (docs/explanation/cost.md, docs/how-to/serve.md). Visits and prices are assumptions,
and arguments. What comes out is a multiplication: ten million readers were never tried.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
from pathlib import Path

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap.client import Client
from discreet.aggregation.dap.hpke import generate_key
from discreet.data.shown_articles import ShownArticles
from discreet.data.synthetic import news_world
from discreet.methods.front_page.day_price import DayPrice
from discreet.methods.front_page.windows import DAY, popularity_task
from discreet.serving.bundle import bundle
from discreet.serving.server import open_service

LEADER_MS, HELPER_MS, BETWEEN_BYTES = 1.56 + 0.61, 0.83, 1406
REQUEST_MS, HEADER_BYTES, REQUESTS_A_VISIT = 0.13, 600, 8
CELLS, MONTH = 1000, 30


def report_bytes() -> int:
    """A sealed report of the popularity task."""
    places = {"leader": "https://leader.example", "helper": "https://helper.example"}
    task = popularity_task(900, DayPrice(1.0), length=CELLS, start=20_000 * DAY, windows=96, **places)
    client = Client(task)
    client._configs = (generate_key(1).config, generate_key(2).config)
    return len(client.report(0, Contribution.of(task, task.nothing())))


def catalogue_bytes() -> tuple[int, int, float]:
    """Articles of a generated site, compressed bytes of their list, and of one article in its page."""
    with tempfile.TemporaryDirectory() as folder:
        data = ShownArticles.of(news_world(200, articles_per_day=100, train_days=2, history_days=2, seed=0))
        service = open_service(None, None, database=Path(folder) / "s.sqlite", data=data, text="hashed")
        service.updater.step()
        pages = service.updater.catalogue
        found = len(service.updater.snapshot), len(pages.listing.compressed), pages.bytes_of_one
        service.store.close()
    return found


def main() -> int:
    """Print what was measured, and the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=float, default=2.0, help="visits of a reader a day")
    parser.add_argument("--reports", type=float, default=2.0, help="windows a day in which a reader's page is open")
    parser.add_argument("--new-articles", type=float, default=100, help="articles a day")
    parser.add_argument("--core-hour", type=float, default=0.03, help="euros for an hour of one core")
    parser.add_argument("--gigabyte", type=float, default=0.01, help="euros for a gigabyte sent; received is free")
    given = parser.parse_args()
    report, script = report_bytes(), len(gzip.compress(bundle()))
    articles, listing, article = catalogue_bytes()
    print(f"report {report:,} B; list of {articles:,} articles {listing:,} B, an article {article:,.0f} B;", end=" ")
    print(f"script {script:,} B, once; all compressed where HTTP compresses\n")
    down = given.visits * (listing + REQUESTS_A_VISIT * HEADER_BYTES) + given.new_articles * article
    print(f"a reader's day: {down / 1e3:,.0f} kB down, {given.reports * report / 1e3:,.0f} kB up\n")
    print("| readers | sent by the publisher | received | publisher's cores | helper's cores | publisher | helper |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for readers in (10**5, 10**7):
        sent, received = readers * MONTH * down / 1e9, readers * MONTH * given.reports * report / 1e9
        own = readers * (given.reports * LEADER_MS + given.visits * REQUESTS_A_VISIT * REQUEST_MS) / 1e3 / DAY
        helper = readers * given.reports * HELPER_MS / 1e3 / DAY
        between = readers * MONTH * given.reports * BETWEEN_BYTES / 1e9
        hours = 24 * MONTH * given.core_hour
        euros = own * hours + (sent + between) * given.gigabyte, helper * hours + between * given.gigabyte
        print(
            f"| {readers:,} | {sent:,.0f} GB | {received:,.0f} GB | {own:.2f} | {helper:.2f}"
            f" | {euros[0]:,.0f} € | {euros[1]:,.0f} € |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
