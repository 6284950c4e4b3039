"""A conversation between a lying publisher and a reader's device, drawn from a seed, and what must hold of it.

Two readers do the same at the same times, but click on other articles: in the same slates, or outside of any, and open
where the other's click is open. Where the publisher promised first to hide the number of clicks, they also click more
or less often. With the same releases, all that their devices send must be the same: addresses, headers, bodies, order
and number; also if the publisher marks its answers in another way. Nothing may throw, no click may cost more than was
allowed, and nothing may be released under terms that make the promise empty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import count
from random import Random

from discreet.audits.hostile_server.liar import Liar
from discreet.audits.hostile_server.publisher import START, WEEK
from discreet.audits.hostile_server.recorded import RecordedClient, Recordings, Released
from discreet.edge.reader.reader_settings import ReaderSettings
from discreet.errors import DiscreetError
from discreet.privacy.guarantee import Adjacency
from discreet.protocol.check import limits

FIRST_EPOCH = 3
MARKED = 4
"""One conversation in so many is held once more, with other marks in the answers."""
_SLACK = 1e-9
_OPEN = "sports"


@dataclass
class Transcript:
    """One device's side of a conversation: all it sent, all it released, and what went wrong."""

    heard: list[tuple[str, str, list[tuple[str, str]], str | None]]
    released: list[Released]
    problems: list[str] = field(default_factory=list)


def problems(seed: int, recordings: Recordings | None = None) -> list[str]:
    """What is wrong in the conversation of a seed; nothing, if the device is safe against it."""
    recordings = recordings or Recordings()
    one, other = (converse(seed, reader, "a mark", recordings) for reader in (0, 1))
    found = [*one.problems, *other.problems, *costs(one), *costs(other)]
    if one.heard != other.heard:
        found.append(f"another reader: {_difference(one, other)}")
    if seed % MARKED == 0:
        marked = converse(seed, 0, "another mark", recordings)
        if one.heard != marked.heard:
            found.append(f"other marks: {_difference(one, marked)}")
    return [f"seed {seed}: {problem}" for problem in found]


def converse(seed: int, reader: int, marks: str, recordings: Recordings) -> Transcript:
    """The conversation of a seed with one of its readers."""
    rng = Random(f"{seed} script")
    return _Reader(rng, Random(f"{seed} reader {reader}"), Liar(seed, marks), recordings).converse()


class _Reader:
    def __init__(self, script: Random, taste: Random, liar: Liar, recordings: Recordings) -> None:
        self._script, self._taste, self._liar = script, taste, liar
        self._now = START + FIRST_EPOCH * WEEK + 60
        names = count()
        self._client = RecordedClient(liar, recordings, lambda: self._now, lambda: f"{next(names):032x}")
        self._open: set[str] = set()
        self._transcript = Transcript(liar.heard, self._client.released)

    def converse(self) -> Transcript:
        script = self._script
        self._step(self._client.refresh)
        self._step(self._choose, script.choice((None, 0.5, 0.8)))
        week = (self._visit, self._visit, self._send, self._change, self._visit, self._wait, self._send, self._visit)
        single = ((self._visit,), (self._send,), (self._refresh,), (self._change,), (self._wait,), (self._rare,))
        for _ in range(script.randrange(2, 5)):
            for step in (*script.choice(single), *week):
                if script.random() < 0.9:
                    self._step(step)
        return self._transcript

    def _step(self, do: object, *arguments: object) -> None:
        """Nothing that a server answers may throw; without terms there is nothing to do, and that is said."""
        try:
            do(*arguments)  # type: ignore[operator]
        except DiscreetError as error:
            if "was never reached" not in str(error):
                self._transcript.problems.append(f"{type(error).__name__}: {error}")
        except Exception as error:
            self._transcript.problems.append(f"{type(error).__name__}: {error}")

    def _choose(self, epsilon: float | None) -> None:
        if self._script.random() < 0.4:
            catalogue = self._client.device.catalogue
            self._open = {article.id for article in catalogue if article.category == _OPEN}
        terms = self._client.device.terms
        allowed = epsilon if epsilon is None or epsilon <= terms.lifetime else None
        self._client.settings = ReaderSettings(allowed, frozenset({_OPEN} if self._open else ()))

    def _visit(self) -> None:
        """Look at the front page and click: as often as anybody here, but on what this reader likes."""
        clicks, is_open, shared = self._script.randrange(4), self._script.random() < 0.2, self._script.random()
        where = self._script.choice(("in the slate", "in the slate", "in the slate", "anywhere", "beside the slate"))
        front = self._client.front(10)
        if self._hides_number() and not (is_open and self._open):
            clicks = self._taste.randrange(4)
        slate = front.slate if where != "anywhere" else None
        shown = [f"N{number}" for number in range(24)] + ["never heard of"]
        if slate is not None:
            shown = [name for name in shown if (name in self._liar.slate) == (where == "in the slate")]
        for _ in range(clicks):
            if is_open and self._open:
                opened = sorted(self._open & set(shown))
                name = opened[int(shared * len(opened))] if opened else None
            else:
                sensitive = [name for name in dict.fromkeys(shown) if name not in self._open]
                name = self._taste.choice(sensitive) if sensitive else None
            if name is not None:
                self._client.clicked(name, slate)

    def _send(self) -> None:
        self._client.send_due()

    def _refresh(self) -> None:
        self._client.refresh()

    def _change(self) -> None:
        for _ in range(self._script.randrange(1, 3)):
            self._liar.change(self._script)
        self._client.refresh()

    def _wait(self) -> None:
        self._now += self._script.choice((3600, WEEK, WEEK, 2 * WEEK))

    def _rare(self) -> None:
        """A clock that is wrong, a history that is forgotten, a section that is looked at."""
        how = self._script.randrange(5)
        if how == 0:
            self._now += self._script.choice((-WEEK, -3 * WEEK, 15 * WEEK, -15 * WEEK))
        elif how == 1:
            self._client.forget()
            self._open = set()
        else:
            self._client.front(10, section=self._taste.choice((None, _OPEN, "health")))

    def _hides_number(self) -> bool:
        return self._client.device._ledger.budget.adjacency is Adjacency.ADD_REMOVE


def costs(transcript: Transcript) -> list[str]:
    """Releases that cost a click more than was allowed, or that hide nothing."""
    found = []
    for number, release in enumerate(transcript.released):
        paid = [r for r in transcript.released[: number + 1] if r.epoch == release.epoch]
        parts = {release.part} if release.part else {r.part for r in paid if r.part} or {""}
        worst = max(math.fsum(r.epsilon for r in paid if r.part in ("", part)) for part in parts)
        if worst > min(release.allowed, limits.max_epsilon) + _SLACK:
            found.append(f"a click cost {worst:g} where {release.allowed:g} was allowed")
        if release.epsilon < limits.min_epsilon or release.epoch_seconds < limits.min_epoch_seconds:
            found.append(f"a release for ε = {release.epsilon:g} every {release.epoch_seconds} seconds")
        if release.choices is not None and release.choices < limits.min_slate_articles:
            found.append(f"a label among {release.choices} articles")
        single = release.smallest_topic is not None and release.smallest_topic < limits.min_topic_articles
        if release.purpose == "sketch" and single:
            found.append(f"a sketch with a topic of {release.smallest_topic} articles")
    return found


def _difference(one: Transcript, other: Transcript) -> str:
    for number, (first, second) in enumerate(zip(one.heard, other.heard, strict=False)):
        if first != second:
            return f"request {number} is {_short(first)} or {_short(second)}"
    return f"{len(one.heard)} or {len(other.heard)} requests"


def _short(request: tuple[str, str, list[tuple[str, str]], str | None]) -> str:
    method, url, headers, body = request
    return f"{method} {url} {headers or ''} {(body or '')[:300]}"
