"""Small data sets for tests, made in memory."""

import numpy as np

from discreet.data.news import Articles, Impressions, NewsData


def make_impressions(shown, clicked, histories=None, reader=None, time=None):
    """Impressions from lists: slates of article numbers, their clicks, the history before each."""
    shown = [np.asarray(slate, np.int32) for slate in shown]
    clicked = [np.asarray(slate, bool) for slate in clicked]
    histories = [np.asarray(h, np.int32) for h in (histories if histories is not None else [[]] * len(shown))]
    ends = np.cumsum([0] + [len(h) for h in histories])
    return Impressions(
        reader=np.asarray(reader if reader is not None else range(len(shown)), np.int32),
        time=np.asarray(time if time is not None else range(len(shown)), np.int64),
        slate=np.cumsum([0] + [len(s) for s in shown]).astype(np.int64),
        shown=np.concatenate(shown) if shown else np.zeros(0, np.int32),
        clicked=np.concatenate(clicked) if clicked else np.zeros(0, bool),
        timeline=np.concatenate([*histories, np.zeros(0, np.int32)]).astype(np.int32),
        history_start=ends[:-1].astype(np.int64),
        history_stop=ends[1:].astype(np.int64),
    )


def make_articles(titles, categories=None, published=None):
    """Articles from titles alone."""
    n = len(titles)
    return Articles(
        ids=[f"N{i}" for i in range(n)],
        titles=list(titles),
        categories=list(categories or [""] * n),
        subcategories=[""] * n,
        abstracts=[""] * n,
        published=np.asarray(published if published is not None else [-1] * n, np.int64),
    )


def make_news(articles, **splits):
    """A data set from articles and named splits."""
    readers = 1 + max(int(part.reader.max(initial=0)) for part in splits.values())
    return NewsData("made", articles, [f"U{i}" for i in range(readers)], splits)
