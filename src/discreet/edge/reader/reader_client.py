"""A reader's side of the conversation with a server: fetch what is public, ask for articles, send what is due.

    client = Client("https://news.example", folder)
    client.refresh()
    front = client.front(20)
    client.clicked(front.articles[0].article.id, front.slate)
    client.send_due()

Without a connection it works with what it has, and `status` says so. Everything it sends is built here, from public
data, from releases that `Device` made, and from counts that the reader declared open; nothing else. Nothing that a
server answers is used before it was checked (docs/reference/protocol.md).
"""

from __future__ import annotations

import base64
import json
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.edge.reader.catalogue_file import CatalogueFile
from discreet.edge.reader.device import Device, OwnSketch
from discreet.edge.reader.device_catalogue import Article
from discreet.edge.reader.first_page import FIRST_PAGE, FirstPage
from discreet.edge.reader.history import ShownSlate
from discreet.edge.reader.http_client import HttpReply, Transport, over_http
from discreet.edge.reader.local_ranking import Ranked
from discreet.edge.reader.publisher_terms import PublisherTerms
from discreet.edge.reader.reader_settings import ReaderSettings
from discreet.errors import DiscreetError
from discreet.files import replacing_file
from discreet.protocol.check import limits, read

if TYPE_CHECKING:
    from discreet.edge.reader.sums import Contributor, Floors, Sender
    from discreet.edge.reader.sums.sums_client import TaskClient

TAKEN, REFUSED, AWAY = (200, 201), (409, 422), (429, 500)


@dataclass(frozen=True)
class ClientStatus:
    """Whether the server answered the last time, what is wrong in one line, and how many articles are known."""

    online: bool
    problem: str | None
    articles: int


@dataclass(frozen=True)
class Front:
    """Articles to show, the best first. `slate` is to be handed to `clicked`; None if clicks belong to no slate."""

    articles: list[Ranked]
    slate: str | None
    ranking: str


class ReaderClient:
    """A device with a server.

    Args:
        url: The server's address.
        folder: Where the device keeps everything.
        transport: How to reach the server.
        clock: Seconds since 1970.
        random_id: Makes names that say nothing: 32 hexadecimal digits.
        first_page: What holds of the first places, whatever was read.
    """

    def __init__(
        self,
        url: str,
        folder: Path,
        *,
        transport: Transport = over_http,
        clock: Callable[[], float] = time.time,
        random_id: Callable[[], str] = lambda: secrets.token_hex(16),
        first_page: FirstPage = FIRST_PAGE,
    ) -> None:
        self._first_page = first_page
        self._url = url.rstrip("/")
        self._folder = Path(folder)
        self._transport = transport
        self._clock = clock
        self._random_id = random_id
        self._articles = self._open_catalogue()
        self._model_file = self._folder / "model.json"
        self._device: Device | None = None
        self._online, self._problem = False, None
        self._forgot = False
        self.contributor: Contributor | None = None
        self._tasks: TaskClient | None = None
        if self._model_file.exists():
            with self._understanding():
                self._adopt(PublisherTerms.from_json(read("model", self._model_file.read_bytes())))

    _problem: str | None

    @property
    def status(self) -> ClientStatus:
        """How things stand."""
        problem = self._problem or (self._device.stopped if self._device else None)
        return ClientStatus(self._online, problem, len(self._articles.catalogue))

    @property
    def device(self) -> Device:
        """The device; there is none before the server was reached once."""
        if self._device is None:
            raise DiscreetError(
                f"{self._url}: was never reached, so there is nothing to show; {self._problem or 'refresh'}"
            )
        return self._device

    @property
    def settings(self) -> ReaderSettings:
        """The reader's choices."""
        return self.device.settings

    @settings.setter
    def settings(self, choices: ReaderSettings) -> None:
        self.device.settings = choices

    def join_sums(self, sender: Sender, floors: Floors) -> Contributor:
        """Take part in sums over all readers: `refresh` fetches the tasks, `contribute_due` sends what is due.

        Call `contribute_due` of what comes back when its `next_due` says so, whatever the reader does.
        """
        from discreet.edge.reader.sums.sums_client import TaskClient

        self.contributor = self._open_contributor(sender, floors)
        self._tasks = TaskClient(self._url, self.contributor, transport=self._transport)
        return self.contributor

    def refresh(self) -> ClientStatus:
        """Fetch the terms and what is new in the catalogue; without a connection, keep what there is."""
        reply = self._ask("GET", "/v1/model")
        if reply is not None and reply.status == 200:
            with self._understanding():
                self._take_terms(read("model", reply.body))
        problem = self._problem
        if reply is not None and self._device is not None:
            with self._understanding():
                self._fetch_catalogue(self._device.terms)
            self._device.catalogue = self._articles.catalogue
        self._problem = problem or self._problem
        if self._tasks is not None:
            with self._understanding():
                self._tasks.refresh()
        return self.status

    def front(self, limit: int = 20, *, section: str | None = None, current: str | None = None) -> Front:
        """The articles to show now, without those that were read, in the way the publisher ranks.

        `current`, the id or address of the article that is open, is not among them.

        What is asked of the server depends on the sketches, the open counts and the limit alone: as many articles
        whatever was read or is looked at, and nothing at all if the device ranks by itself. A section is picked here.
        """
        device = self.device
        shown = self._asked(device, limit, current) if self._asks(device) else None
        if shown is None or section is not None:
            known = [a for a in device.catalogue if section is None or section in (a.section, a.category)]
            shown = Front(device.rank(known, current=current)[:limit], None, "local")
        if section is None:
            device.remember_view([ranked.article for ranked in shown.articles])
        return shown

    def clicked(self, name: str, slate: str | None = None) -> None:
        """Remember a click on the article of an id or address; `slate` as `front` gave it."""
        self.device.clicked(name, slate)

    def send_due(self) -> int:
        """Make the releases that are due, and send what has not arrived yet; returns how many reports were taken.

        A sketch is due when its epoch is over, a label when its slate was followed by another, or its epoch is over.
        A report that did not arrive is sent again, the same bytes under the same id.
        """
        device = self.device
        if self._forgot:
            return 0
        with self._understanding():
            self._report_labels(device)
        if device.terms.reports:
            with self._understanding():
                self._report_sketches(device)
        taken = 0
        for number, body in device.history.reports():
            reply = self._ask("POST", "/v1/reports", body)
            if reply is None or reply.status in AWAY or reply.status >= 500:
                break
            if reply.status in TAKEN or (reply.status in REFUSED and reply.error() is not None):
                device.history.drop_report(number)
            taken += reply.status in TAKEN
        return taken

    def forget(self) -> None:
        """The history goes, and all that a server handed out; the debits stay. Nothing is sent before `refresh`."""
        device = self.device
        device.forget()
        if self.contributor is not None:
            self.contributor.forget()
        self._articles.forget()
        device.catalogue = self._articles.catalogue
        self._model_file.unlink(missing_ok=True)
        self._forgot = True

    def _take_terms(self, model: dict[str, Any]) -> None:
        terms = PublisherTerms.from_json(model)
        terms.require_begun(self._clock())
        self._adopt(terms)
        self._keep_terms(json.dumps(model))
        self._forgot = False

    def _keep_terms(self, text: str) -> None:
        with replacing_file(self._model_file, 0o600) as draft:
            draft.write_text(text, encoding="utf-8")

    @contextmanager
    def _understanding(self) -> Iterator[None]:
        """What cannot be used becomes a problem in `status`, and what was there before stays in use."""
        try:
            yield
        except DiscreetError as error:
            self._problem = f"{self._url}: {error}"
        except OSError as error:
            self._problem = f"{self._folder}: cannot be read or written ({error.strerror or error})"

    def _adopt(self, terms: PublisherTerms) -> None:
        if self._device is None:
            self._device = self._open_device(terms)
        self._device.terms = terms
        self._articles.adopt(terms)
        self._device.catalogue = self._articles.catalogue

    def _open_catalogue(self) -> CatalogueFile:
        return CatalogueFile(self._folder / "catalogue.sqlite")

    def _open_device(self, terms: PublisherTerms) -> Device:
        catalogue = self._articles.catalogue
        return Device(
            self._folder,
            terms,
            catalogue,
            clock=self._clock,
            random_id=self._random_id,
            first_page=self._first_page,
        )

    def _open_contributor(self, sender: Sender, floors: Floors) -> Contributor:
        from discreet.edge.reader.sums import Contributor

        history = self.device.history
        return Contributor(
            self._folder / "sums", history.articles_clicked, sender, floors, views=history.views, clock=self._clock
        )

    def _fetch_catalogue(self, terms: PublisherTerms) -> None:
        """The list, then the pages that are lacking, the newest first; what has come stays for the next time."""
        reply = self._ask("GET", "/v1/catalogue")
        if reply is None or reply.status != 200:
            return
        for name in self._articles.take(reply.body, terms):
            page = self._ask("GET", f"/v1/catalogue/{name}")
            if page is None or page.status != 200:
                return
            self._articles.keep_page(name, page.body, terms)
        self._articles.complete(terms)

    def _asks(self, device: Device) -> bool:
        return not self._forgot and device.terms.ranking != "local" and device.settings.makes_sketches(device.terms)

    def _asked(self, device: Device, limit: int, current: str | None) -> Front | None:
        """The server's slate as the reader sees it; None if there is none that can be used."""
        with self._understanding():
            reply = self._ask("POST", "/v1/recommend", self._recommend_body(device, limit))
            if reply is not None and reply.status == 200:
                return self._shown(device, read("recommend", reply.body), limit, current)
        return None

    def _recommend_body(self, device: Device, limit: int) -> str:
        """The newest sketches, of as many clicks as a server takes at once, and the open counts."""
        sketches: list[OwnSketch] = []
        for sketch in reversed(device.sketches()):
            if sum(s.clicks or 0 for s in (*sketches, sketch)) > limits.max_clicks_in_all:
                break
            sketches.insert(0, sketch)
        body: dict[str, Any] = {
            "space": device.terms.space,
            "sketches": [{"epoch": s.epoch, "clicks": s.clicks, "release": _base64(s.release)} for s in sketches],
            "limit": min(limits.max_slate, max(limit, device.terms.shortlist_size)),
        }
        counts = device.open_counts()
        if counts is not None:
            body["open"] = counts
        return json.dumps(body)

    def _shown(self, device: Device, answer: dict[str, Any], limit: int, current: str | None) -> Front:
        """Re-ranked here, or in the server's order; never what was read."""
        entries = answer["articles"]
        names = tuple(entry["id"] for entry in entries)
        slate = device.show(ShownSlate(answer["slate"], answer["model"], names, answer["signature"]))
        bases = {entry["id"]: entry["base"] for entry in entries}
        candidates = [device.catalogue.get(name) or Article.unknown(name) for name in bases]
        ranked = device.rank(candidates, list(bases.values()), current)
        if device.terms.ranking == "server":
            place = {name: number for number, name in enumerate(bases)}
            ranked.sort(key=lambda shown: place[shown.article.id])
        return Front(ranked[:limit], slate, device.terms.ranking)

    def _report_labels(self, device: Device) -> None:
        for slate, release in device.finished_slates():
            report = None
            if release is not None:
                shown = {"id": slate.id, "articles": slate.articles, "signature": slate.signature}
                fields = {"id": self._random_id(), "kind": "label", "model": slate.model, "slate": shown}
                report = json.dumps({**fields, "release": _base64(release)})
            device.history.close_slate(slate.name, report)

    def _report_sketches(self, device: Device) -> None:
        sketches = device.sketches()
        plans = device.history.plans()
        for sketch in sketches:
            plan = plans[sketch.epoch]
            if plan.reported or sketch.epsilon != device.terms.epsilon_sketch:
                continue
            fields = {"id": self._random_id(), "kind": "sketch", "space": plan.space, "epoch": sketch.epoch}
            body = {**fields, "device": plan.pseudonym, "clicks": sketch.clicks, "release": _base64(sketch.release)}
            device.history.report_sketch(sketch.epoch, json.dumps(body))

    def _ask(self, method: str, path: str, body: str | None = None) -> HttpReply | None:
        """The server's reply, or None if there was none; what is wrong goes to `status`."""
        try:
            reply = self._transport(method, self._url + path, {}, body)
        except (OSError, HTTPException) as error:
            self._online, self._problem = False, f"{self._url} cannot be reached ({error}); working with what is here"
            return None
        self._online = True
        failed = not 200 <= reply.status < 300
        self._problem = f"{self._url}{path}: {reply.status}, {reply.error() or 'no reason given'}" if failed else None
        return reply


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
