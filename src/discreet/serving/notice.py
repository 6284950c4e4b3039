"""What to tell readers, in plain words, made from the guarantees of what is served.

A notice is a list of sentences. Each has a name, English words with places for parameters, and the parameters: a site
that speaks another language translates the words by name and puts in the same parameters. So no translation can say
another ε than the one that holds.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from discreet.aggregation.task import Task
from discreet.privacy.guarantee import Guarantee, shown_epsilon
from discreet.protocol.check import limits
from discreet.serving.about import Offer
from discreet.serving.model import Served

WORDS = {
    "warning": "{warning}",
    "stays": "What you read stays on your device. The list of what you opened is kept there, and you can delete it.",
    "ranked_on_device": "Your device puts the articles in order by itself. For that it sends nothing about you.",
    "ranked_by_sketch": "To put articles in order, your device sends how often you read about each of {topics}"
    " subjects, with random noise added on your device first. A click costs ε = {epsilon} for it, once.",
    "labels": "Your device may also send, with noise, which article of a list you opened. A click costs ε = {epsilon}"
    " for it, once.",
    "click_promise": "The promise about each click, over its life: {guarantee}.",
    "sum_purpose": "{purpose}",
    "sum_how": "For this your device adds to a sum over all readers, {how_often}, the same number of bytes whether you"
    " read or not. Your part is cut in two: {leader} gets one half, {helper} the other. Each half alone is random"
    " numbers. Both add noise before the sum is shown.",
    "sum_cost": "That costs ε = {epsilon} for all that you do in {period}{delta}. The adversary here is the publisher"
    " together with one of the two: {guarantee}.",
    "collusion": "If {leader} and {helper} worked together, they would see your part without noise. They must be run by"
    " different people who do not share what they have.",
    "caps": "Whatever is asked, your device spends at most ε = {day} a day and ε = {life} over its life on sums, at"
    " δ = {delta_for_life}. Then it stops. Each of your devices counts for itself, and in a browser each site does.",
    "lasting": "In a browser your device takes part once it has found its record of what it spent again on a later day"
    " (UTC), so not on your first day. A browser that keeps nothing takes no part. One that loses what it kept counts"
    " anew.",
    "choice": "You can stop your part in sums at any time; your front page works all the same.",
    "epsilon": "ε says how much better than by guessing anybody could tell from what was sent whether you did"
    " something or not. Odds change by at most a factor of e^ε: at ε = 1, odds of 1 to 1 become 2.72 to 1 at the most.",
    "not_covered": "Not covered is what any website sees: that your device asked, when, and from which address; and"
    " that you opened an article on the publisher's site.",
    "code": "All this is done by a program that the publisher sends to your browser. The promise holds if that program"
    " is the published one.",
}


@dataclass(frozen=True)
class Sentence:
    """One sentence: the name of its words, and what is put into them."""

    name: str
    parameters: dict[str, str]

    def __str__(self) -> str:
        return WORDS[self.name].format(**self.parameters)


@dataclass(frozen=True)
class Notice:
    """All that a reader is told."""

    sentences: tuple[Sentence, ...]

    def as_text(self) -> str:
        """Plain text, a paragraph for each sentence."""
        return "Privacy notice\n\n" + "\n\n".join(map(str, self.sentences)) + "\n"

    def as_html(self) -> str:
        """A page without scripts."""
        lines = "\n".join(
            f"  <p{' class=warning' if one.name == 'warning' else ''}>{html.escape(str(one))}</p>"
            for one in self.sentences
        )
        return _PAGE.format(lines=lines)

    def to_json(self) -> dict[str, Any]:
        """For sites that translate: words by name, parameters, and the English text."""
        sentences = [
            {"name": one.name, "words": WORDS[one.name], "parameters": one.parameters, "text": str(one)}
            for one in self.sentences
        ]
        return {"language": "en", "sentences": sentences}


def notice_of(model: Served, offer: Offer) -> Notice:
    """The notice of what is served."""
    return Notice(tuple(_sentences(model, offer)))


def _sentences(model: Served, offer: Offer) -> Iterator[Sentence]:
    if offer.warning:
        yield Sentence("warning", {"warning": offer.warning})
    yield Sentence("stays", {})
    yield from _of_clicks(model, offer)
    for task in offer.tasks:
        yield from _of_task(task, is_trial=bool(offer.warning))
    if offer.tasks:
        most = {"day": limits.max_day_epsilon, "life": limits.max_life_epsilon}
        shown = {name: shown_epsilon(value) for name, value in most.items()}
        if not offer.warning:  # in a trial nothing is promised
            yield Sentence("caps", {**shown, "delta_for_life": f"{limits.max_task_delta:g}"})
        yield Sentence("lasting", {})
        yield Sentence("choice", {})
    yield Sentence("epsilon", {})
    yield Sentence("not_covered", {})
    yield Sentence("code", {})


def _of_clicks(model: Served, offer: Offer) -> Iterator[Sentence]:
    sends_sketches = offer.ranking != "local" and model.epsilon_sketch > 0
    if not sends_sketches:
        yield Sentence("ranked_on_device", {})
        if not offer.reports:
            return
    else:
        shown = {"topics": str(len(model.space)), "epsilon": shown_epsilon(model.epsilon_sketch)}
        yield Sentence("ranked_by_sketch", shown)
    if offer.reports and model.epsilon_label > 0:
        yield Sentence("labels", {"epsilon": shown_epsilon(model.epsilon_label)})
    yield Sentence("click_promise", {"guarantee": str(model.guarantee())})


def _of_task(task: Task, is_trial: bool) -> Iterator[Sentence]:
    leader, helper = (urlsplit(address).netloc or address for address in (task.leader, task.helper))
    period = str(task.guarantee().scope)
    guarantee = Guarantee.unprotected("sums whose aggregators are one party", task.guarantee().scope)
    yield Sentence("sum_purpose", {"purpose": task.purpose})
    yield Sentence("sum_how", {"how_often": _every(task.window_seconds), "leader": leader, "helper": helper})
    if is_trial:
        yield Sentence(
            "sum_cost",
            {"epsilon": shown_epsilon(guarantee.epsilon), "period": period, "delta": "", "guarantee": str(guarantee)},
        )
        return
    delta = f" (at δ = {task.delta:g})" if task.delta else ""
    cost = {"epsilon": shown_epsilon(task.epsilon), "period": period, "delta": delta}
    yield Sentence("sum_cost", {**cost, "guarantee": str(task.guarantee())})
    yield Sentence("collusion", {"leader": leader, "helper": helper})


def _every(seconds: int) -> str:
    for size, name in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds % size == 0:
            return f"once every {seconds // size} {name}s" if seconds > size else f"once every {name}"
    return f"once every {seconds} seconds"


_PAGE = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Privacy notice</title>
  <link rel="icon" href="/web/icons/icon.svg" type="image/svg+xml">
  <link rel="stylesheet" href="/web/notice.css">
</head>
<body>
<main>
  <h1>Privacy notice</h1>
{lines}
  <p class="small"><a href="/">Back to the news</a> · <a href="/notice.txt">as plain text</a> ·
    <a href="/v1/notice">as sentences to translate</a></p>
</main>
</body>
</html>
"""
