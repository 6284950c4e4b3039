"""A news world made from a seed: articles, readers and clicks that behave like news, with the truth behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions, NewsData
from discreet.data.synthetic.appeal import draw_appeal
from discreet.data.synthetic.article_world import ArticleTruth, draw_articles, word_articles
from discreet.data.synthetic.click_world import LIFE_DAYS, ClickLog, draw_visits, run_clock
from discreet.data.synthetic.reader_world import ReaderTruth, draw_readers
from discreet.data.synthetic.rhythm import DAY

TRAIN_START = int(datetime(2019, 11, 9, tzinfo=UTC).timestamp())
_MIN_ARTICLES_A_DAY, _ARTICLES_A_DAY_BY_ROOT = 40, 4.25


@dataclass(frozen=True)
class NewsWorld:
    """Generated data with what generated it. `utility[split]` is parallel to `splits[split].shown`."""

    data: NewsData
    articles: ArticleTruth
    readers: ReaderTruth
    utility: Mapping[str, NDArray[np.float32]]


def news_world(
    readers: int = 5000,
    *,
    train_days: int = 4,
    history_days: int = 14,
    articles_per_day: int | None = None,
    seed: int = 0,
) -> NewsData:
    """Generate a news data set: `train_days` days from 9 November 2019, and the day after them as `dev`.

    Histories in `train` are the clicks of the `history_days` days before; those in `dev` also have the reader's clicks
    in `train`. The same arguments always give the same data. By default the site publishes 4.25·√readers articles a
    day: about 300 for 5,000 readers.
    """
    return news_world_with_truth(
        readers, train_days=train_days, history_days=history_days, articles_per_day=articles_per_day, seed=seed
    ).data


def news_world_with_truth(
    readers: int = 5000,
    *,
    train_days: int = 4,
    history_days: int = 14,
    articles_per_day: int | None = None,
    seed: int = 0,
) -> NewsWorld:
    """As `news_world`, together with the tastes and utilities behind the clicks: what an oracle would know."""
    if articles_per_day is None:
        articles_per_day = max(_MIN_ARTICLES_A_DAY, round(_ARTICLES_A_DAY_BY_ROOT * max(readers, 0) ** 0.5))
    for name, value, least in (
        ("readers", readers, 1),
        ("train_days", train_days, 1),
        ("history_days", history_days, 0),
        ("articles_per_day", articles_per_day, 10),
    ):
        if value < least:
            raise ValueError(f"{name} must be at least {least}, not {value}")

    streams = np.random.default_rng(seed).spawn(6)
    logged_days = train_days + 1
    days = history_days + logged_days
    start = TRAIN_START - history_days * DAY
    articles = draw_articles(streams[0], start - LIFE_DAYS * DAY, LIFE_DAYS + days, articles_per_day)
    people = draw_readers(streams[1], readers, days)
    appeal = draw_appeal(streams[2], articles, people)
    early = draw_visits(streams[3], people.history_clicks * (history_days > 0), start, history_days, apart=False)
    logged = draw_visits(streams[3], people.impressions, TRAIN_START, logged_days, apart=True)
    log = run_clock(streams[4], appeal, early, logged, start, days)
    splits, utility = _splits(log, readers, TRAIN_START + train_days * DAY)
    data = NewsData(
        name=f"generated-{readers}-{seed}",
        articles=word_articles(streams[5], articles),
        readers=[f"U{number}" for number in range(1, readers + 1)],
        splits=splits,
    )
    return NewsWorld(data, articles, people, utility)


def _splits(
    log: ClickLog, readers: int, dev_start: int
) -> tuple[dict[str, Impressions], dict[str, NDArray[np.float32]]]:
    """Train and dev, their histories slices of one timeline: a reader's early clicks, then those in train."""
    in_train = log.time < dev_start
    slate = np.concatenate(([0], np.cumsum(log.sizes)))
    trained = log.clicked & np.repeat(in_train, log.sizes)
    train_reader = np.repeat(log.reader, log.sizes)[trained]
    click_reader = np.concatenate((log.early_reader, train_reader))
    click_article = np.concatenate((log.early_article, log.shown[trained]))
    timeline = click_article[np.argsort(click_reader, kind="stable")]
    all_clicks = np.bincount(click_reader, minlength=readers)
    start = np.cumsum(all_clicks) - all_clicks
    stop = {"train": start + np.bincount(log.early_reader, minlength=readers), "dev": start + all_clicks}

    everything = Impressions(
        reader=log.reader,
        time=log.time,
        slate=slate.astype(np.int64),
        shown=log.shown,
        clicked=log.clicked,
        timeline=timeline,
        history_start=start[log.reader],
        history_stop=start[log.reader],
    )
    splits, utility = {}, {}
    for split, chosen in (("train", in_train), ("dev", ~in_train)):
        part = everything.select(chosen)
        splits[split] = _with_history_until(part, stop[split][part.reader])
        utility[split] = log.utility[np.repeat(chosen, log.sizes)]
    return splits, utility


def _with_history_until(part: Impressions, stop: NDArray[np.int64]) -> Impressions:
    return Impressions(**{**vars(part), "history_stop": stop})
