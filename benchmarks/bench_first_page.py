"""What the limits of the first page change, and what they cost.

Of a whole catalogue: for readers with no click, one, and ten clicks on one section, the share of the largest section in
the first twelve, and their mean age, without and with the limits. Of recorded impressions: the AUC of `front_page` on
the order of what was shown, and on that order with the first twelve chosen anew; an article is as new as when it was
first shown.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import NewsData
from discreet.data.open import open_news
from discreet.data.shown_articles import ShownArticles
from discreet.edge.reader.device_catalogue import Article
from discreet.edge.reader.first_page import FirstPage
from discreet.edge.reader.local_ranking import rank
from discreet.edge.reader.personal_scores import ReadArticle
from discreet.edge.reader.publisher_terms import PublisherTerms
from discreet.evaluation.metrics import ranking_metrics
from discreet.evaluation.uncertainty import paired_difference
from discreet.methods.front_page.front_page import FrontPage
from discreet.methods.method import TrainingTask
from discreet.protocol.check import read
from discreet.serving.server import open_service

READERS = 100


def catalogue(data: NewsData, text: str) -> tuple[list[Article], PublisherTerms, int]:
    """What a device gets of the articles that were shown; as old as when they were first shown, if no date is known."""
    shown = ShownArticles.of(data)
    with tempfile.TemporaryDirectory() as folder:
        service = open_service(None, None, database=Path(folder) / "s.sqlite", data=shown, text=text)
        service.updater._clock = lambda: float(shown.latest)
        service.updater.step()
        terms, s = PublisherTerms.from_json(read("model", service.about().plain())), service.snapshot
        found = [
            replace(Article.from_json(json.loads(b"{%s}" % entry), float(base), terms), published=int(listed))
            for entry, base, listed in zip(s.entries, s.base, s.listed_at, strict=True)
        ]
        service.close()
    ids = {name for name, times in zip(data.articles.ids, shown.times_shown, strict=True) if times}
    return [article for article in found if article.id in ids], terms, shown.latest


def first_twelve(articles: list[Article], terms: PublisherTerms, now: int) -> None:
    """Readers whose clicks are on one section each, drawn as often as it has articles."""
    rng = np.random.default_rng(0)
    named = [article for article in articles if article.category]
    print("| clicks | limits | largest section | mean age, hours | of the newest tenth |\n|---|---|---|---|---|")
    newest = sorted((a.published or 0 for a in articles), reverse=True)[len(articles) // 10]
    for clicks in (0, 1, 10):
        read = []
        for _ in range(READERS if clicks else 1):
            section = named[rng.integers(len(named))].category
            same = [article for article in named if article.category == section]
            read.append([same[i] for i in rng.choice(len(same), min(clicks, len(same)), replace=False)])
        for name, rule in (("without", FirstPage(places=0)), ("with", FirstPage())):
            rows = []
            for own in read:
                history = [ReadArticle(one.vector, one.category, one.section) for one in own]
                ids, bases = {one.id for one in own}, [article.base for article in articles]
                first = [one.article for one in rank(articles, bases, history, ids, terms, rule)[:12]]
                largest = Counter(article.category for article in first).most_common(1)[0][1]
                ages = [(now - (article.published or 0)) / 3600 for article in first]
                rows.append((largest / 12, np.mean(ages), np.mean([(a.published or 0) > newest for a in first])))
            share, age, new = np.mean(rows, axis=0)
            print(f"| {clicks} | {name} | {share:.0%} | {age:.1f} | {new:.0%} |")


def with_limits(scores: NDArray[np.float64], data: NewsData, split: str, rule: FirstPage) -> NDArray[np.float64]:
    """Scores that give each impression the order that the limits make of it."""
    part, first = data.splits[split], ShownArticles.of(data).first_shown
    sections = data.articles.categories
    found = np.empty(len(scores))
    for start, stop in zip(part.slate[:-1], part.slate[1:], strict=True):
        shown = part.shown[start:stop]
        order = np.argsort(-scores[start:stop], kind="stable").tolist()
        times = [int(time) for time in first[shown]]
        for place, i in enumerate(rule.arranged(order, [sections[a] for a in shown], times)):
            found[start + i] = -place
    return found


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="a news data set")
    parser.add_argument("--text", default="hashed")
    given = parser.parse_args()
    data = open_news(given.data)
    first_twelve(*catalogue(data, given.text))
    task = TrainingTask(data, given.text)
    method = FrontPage(head_share=0.0)
    scores = np.asarray(method.score(task, method.train(task, 0), data.splits["dev"], 0), np.float64)
    before = ranking_metrics(scores, data.splits["dev"])
    after = ranking_metrics(with_limits(scores, data, "dev", FirstPage()), data.splits["dev"])
    print("\n| dev | without | with | with − without, paired |\n|---|---|---|---|")
    for metric in ("auc", "ndcg@10"):
        difference = paired_difference(after[metric], before[metric], before.reader)
        print(f"| {metric} | {before[metric].mean():.4f} | {after[metric].mean():.4f} | {difference} |")


if __name__ == "__main__":
    main()
