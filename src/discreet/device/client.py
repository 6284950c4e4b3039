"""A reader's side of the conversation with a server: fetch what is public, ask for articles, send what is due.

    client = Client("https://news.example", folder)
    client.refresh()
    front = client.front(20)
    client.clicked(front.articles[0].article.id, front.slate)
    client.send_due()

Without a connection it works with what it has, and `status` says so. Everything it sends is built here, from public
data, from releases that `Device` made, and from counts that the reader declared open; nothing else.
"""

from __future__ import annotations

import base64
import json
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from discreet.device.catalogue import Article, CatalogueFile, Ranked
from discreet.device.device import Device, Sketch
from discreet.device.history import Slate
from discreet.device.settings import Settings
from discreet.device.terms import Terms
from discreet.device.transport import Reply, Transport, over_http
from discreet.errors import DiscreetError
from discreet.files import replacing_file
from discreet.privacy.noise import SecureNoise

PAGE = 500


@dataclass(frozen=True)
class Status:
    """Whether the server answered the last time, what is wrong in one line, and how many articles are known."""

    online: bool
    problem: str | None
    articles: int


@dataclass(frozen=True)
class Front:
    """Articles to show, the best first. `slate` is to be handed to `clicked`; None if the device ranked alone."""

    articles: list[Ranked]
    slate: str | None
    ranking: str


class Client:
    """A device with a server.

    Args:
        url: The server's address.
        folder: Where the device keeps everything.
        transport: How to reach the server.
        noise: Where the noise of releases comes from.
        clock: Seconds since 1970.
        random_id: Makes names that say nothing: 32 hexadecimal digits.
    """

    def __init__(
        self,
        url: str,
        folder: Path,
        *,
        transport: Transport = over_http,
        noise: SecureNoise | None = None,
        clock: Callable[[], float] = time.time,
        random_id: Callable[[], str] = lambda: secrets.token_hex(16),
    ) -> None:
        self._url = url.rstrip("/")
        self._folder = Path(folder)
        self._transport = transport
        self._around = {"noise": noise, "clock": clock, "random_id": random_id}
        self._random_id = random_id
        self._articles = CatalogueFile(self._folder / "catalogue.sqlite")
        self._model_file = self._folder / "model.json"
        self._etag, self._device = "", None
        self._online, self._problem = False, None
        if self._model_file.exists():
            kept = json.loads(self._model_file.read_text(encoding="utf-8"))
            self._etag = kept["etag"]
            self._begin(Terms.from_json(kept["model"]))

    _device: Device | None
    _problem: str | None

    @property
    def status(self) -> Status:
        """How things stand."""
        problem = self._problem or (self._device.stopped if self._device else None)
        return Status(self._online, problem, len(self._articles.catalogue))

    @property
    def device(self) -> Device:
        """The device; there is none before the server was reached once."""
        if self._device is None:
            raise DiscreetError(
                f"{self._url}: was never reached, so there is nothing to show; {self._problem or 'refresh'}"
            )
        return self._device

    @property
    def settings(self) -> Settings:
        """The reader's choices."""
        return self.device.settings

    @settings.setter
    def settings(self, choices: Settings) -> None:
        self.device.settings = choices

    def refresh(self) -> Status:
        """Fetch the terms and what is new in the catalogue; without a connection, keep what there is."""
        reply = self._ask("GET", "/v1/model", headers={"If-None-Match": self._etag} if self._etag else {})
        if reply is not None and reply.status == 200:
            with self._understanding():
                self._take_terms(reply)
        if reply is not None and self._device is not None:
            with self._understanding():
                self._fetch_articles(self._device.terms)
            self._device.catalogue = self._articles.catalogue
        return self.status

    def front(self, limit: int = 20, *, category: str | None = None) -> Front:
        """The articles to show now, without those that were read, in the way the publisher ranks.

        What is asked of the server depends on the sketches, the open counts and the arguments alone: as many articles
        whatever was read, and nothing at all if the device ranks by itself.
        """
        device = self.device
        if device.terms.ranking != "local" and device.settings.makes_sketches(device.terms):
            reply = self._ask("POST", "/v1/recommend", self._recommend_body(limit, category))
            if reply is not None and reply.status == 200:
                with self._understanding():
                    return self._shown(reply.json(), limit)
        known = [a for a in self._articles.catalogue if category is None or a.category == category]
        return Front(device.rank(known)[:limit], None, "local")

    def clicked(self, article_id: str, slate: str | None = None) -> None:
        """Remember a click on this device; `slate` as `front` gave it."""
        self.device.clicked(article_id, slate)

    def send_due(self) -> int:
        """Make the releases that are due, and send what has not arrived yet; returns how many reports were taken.

        A sketch is due when its epoch is over, a label when its slate was followed by another, or its epoch is over.
        A report that did not arrive is sent again, the same bytes under the same id.
        """
        device = self.device
        self._report_labels(device)
        if device.terms.reports:
            for sketch in device.sketches():
                self._report_sketch(device, sketch)
        taken = 0
        for number, body in device.history.reports():
            reply = self._ask("POST", "/v1/reports", body)
            if reply is None or reply.status >= 500 or reply.status == 429:
                break
            device.history.drop_report(number)
            taken += reply.status in (200, 201)
        return taken

    def forget(self) -> None:
        """The history goes; the debits stay."""
        self.device.forget()

    def _take_terms(self, reply: Reply) -> None:
        model = reply.json()
        terms = Terms.from_json(model)
        self._etag = reply.headers.get("etag", "")
        with replacing_file(self._model_file) as draft:
            draft.write_text(json.dumps({"etag": self._etag, "model": model}), encoding="utf-8")
        self._begin(terms)

    @contextmanager
    def _understanding(self) -> Iterator[None]:
        """An answer that makes no sense becomes a problem in `status`, and what was there before stays in use."""
        try:
            yield
        except DiscreetError as error:
            self._problem = f"{self._url}: {error}"
        except (KeyError, TypeError, ValueError) as error:
            self._problem = f"{self._url}: the server's answer cannot be read ({error!r})"

    def _begin(self, terms: Terms) -> None:
        self._device = Device(self._folder, terms, self._articles.catalogue, **self._around)  # type: ignore[arg-type]

    def _fetch_articles(self, terms: Terms) -> None:
        while True:
            anew = self._articles.model != terms.model
            since = "" if anew else self._articles.cursor
            query = {"since": since, "limit": PAGE} if since else {"limit": PAGE}
            headers = {"If-None-Match": self._articles.etag} if since and self._articles.etag else {}
            reply = self._ask("GET", f"/v1/articles?{urlencode(query)}", headers=headers)
            if reply is None or reply.status != 200:
                return
            page = reply.json()
            etag = "" if page["more"] or page["cursor"] != since else reply.headers.get("etag", "")
            self._articles.change(
                page["articles"], page["removed"], model=terms.model, cursor=str(page["cursor"]), etag=etag
            )
            if not page["more"]:
                return

    def _recommend_body(self, limit: int, category: str | None) -> str:
        device = self.device
        body: dict[str, Any] = {
            "space": device.terms.space,
            "sketches": [
                {"epoch": sketch.epoch, "clicks": sketch.clicks, "release": _base64(sketch.release)}
                for sketch in device.sketches()
            ],
            "limit": min(500, max(limit, device.terms.shortlist_size)),
        }
        counts = device.open_counts()
        if counts is not None:
            body["open"] = counts
        if category is not None:
            body["category"] = [category]
        return json.dumps(body)

    def _shown(self, answer: dict[str, Any], limit: int) -> Front:
        """The server's slate as the reader sees it: re-ranked here, or in the server's order; never what was read."""
        device, terms = self.device, self.device.terms
        entries = answer["articles"]
        slate = Slate(
            str(answer["slate"]), str(answer["model"]), tuple(str(e["id"]) for e in entries), str(answer["signature"])
        )
        device.history.add_slate(slate, device.current_epoch())
        unknown = (Article(name, "", "", 0, b"", 0.0) for name in slate.articles)
        candidates = [
            self._articles.catalogue.get(name) or blank for name, blank in zip(slate.articles, unknown, strict=True)
        ]
        ranked = device.rank(candidates, [float(entry["base"]) for entry in entries])
        if terms.ranking == "server":
            place = {name: number for number, name in enumerate(slate.articles)}
            ranked.sort(key=lambda shown: place[shown.article.id])
        return Front(ranked[:limit], slate.id, terms.ranking)

    def _report_labels(self, device: Device) -> None:
        for slate in device.history.finished_slates(device.current_epoch()):
            clicked = {click.article for click in device.history.clicks(slate=slate.id)} & set(slate.articles)
            release = device.label(slate, sorted(clicked))
            report = None
            if release is not None:
                shown = {"id": slate.id, "articles": slate.articles, "signature": slate.signature}
                fields = {"id": self._random_id(), "kind": "label", "model": slate.model, "slate": shown}
                report = json.dumps({**fields, "release": _base64(release.to_bytes())})
            device.history.close_slate(slate.id, report)

    def _report_sketch(self, device: Device, sketch: Sketch) -> None:
        plan = device.history.sketch_plan(sketch.epoch)
        if plan is None or plan.reported or sketch.epsilon != device.terms.epsilon_sketch:
            return
        fields = {"id": self._random_id(), "kind": "sketch", "space": plan.space, "epoch": sketch.epoch}
        body = {**fields, "device": plan.pseudonym, "clicks": sketch.clicks, "release": _base64(sketch.release)}
        device.history.report_sketch(sketch.epoch, json.dumps(body))

    def _ask(
        self, method: str, path: str, body: str | None = None, *, headers: dict[str, str] | None = None
    ) -> Reply | None:
        """The server's reply, or None if there was none; what is wrong goes to `status`."""
        try:
            reply = self._transport(method, self._url + path, headers or {}, body)
        except OSError as error:
            self._online, self._problem = False, f"{self._url} cannot be reached ({error}); working with what is here"
            return None
        self._online = True
        self._problem = None if reply.status < 400 else f"{self._url}{path.split('?')[0]}: {reply.reason()}"
        return reply


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
