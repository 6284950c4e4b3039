"""The element on a page of another origin, in Chromium and in Firefox: it ranks, follows what is read, and contributes.

`DISCREET_SCREENSHOTS=FOLDER` keeps pictures.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from browsers import BROWSERS, page_in
from sums_site import NUMBER, SumsSite, sums_site
from sums_tools import DAY

from discreet.cli import run

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>The Harbour Times</title><link rel="icon" href="data:,">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body { font: 17px/1.5 Georgia, serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
discreet-front-page { --discreet-accent: #7a1f3d; } discreet-front-page::part(heading) { font-style: italic; }</style>
{script}
</head><body><h1>The Harbour Times</h1>
{element}
</body></html>"""
CLOCK = "() => {{ const now = Date.now; Date.now = () => now() + 1000 * Number(localStorage.ahead ?? {ahead}); }}"
FRONT = "document.querySelector('discreet-front-page')"
SHOWN = f"""() => [...{FRONT}.shadowRoot.querySelectorAll("li[part='article']")].map((item) => item.dataset.article)"""
READ_FIVE = f"""async () => {{
  const front = {FRONT}, {{ device }} = front;
  front.addEventListener("discreet-open", (event) => event.preventDefault());
  const rare = device.categories().filter(({{ articles }}) => articles >= 8).at(-1).category;
  front.setAttribute("category", rare);
  front.render();
  for (let number = 0; number < 5; number++) {{
    const kept = device.kept().clicks;
    front.shadowRoot.querySelector("li[part='article'] a").click();
    while (device.kept().clicks === kept) await new Promise((resolve) => setTimeout(resolve, 10));
  }}
  front.removeAttribute("category");
  front.render();
  const {{ articles }} = device.here(10000), base = ({{ score, personal }}) => score - personal;
  const without = [...articles].sort((a, b) => base(b) - base(a));
  const place = (list) => list.reduce((sum, {{ category }}, place) => sum + (category === rare ? place : 0), 0);
  return {{ before: place(without), after: place(articles), clicks: device.kept().clicks, rare }};
}}"""
"""Opens five articles of one section; the places of the others in it, with what was read and without."""
CONTRIBUTED = f"async () => (await {FRONT}.sums.state()).contributions.filter(({{ status }}) => status === 200).length"


@contextmanager
def foreign_page() -> Iterator[tuple[str, dict[str, str]]]:
    """A site of another origin; its page is what is put into the dictionary."""
    shown = {"html": ""}

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(shown["html"].encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", shown
    server.shutdown()


@pytest.mark.parametrize("name", BROWSERS)
@pytest.mark.long
def test_the_element_on_a_page_of_another_origin(
    name: str, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with foreign_page() as (origin, shown), sums_site(tmp_path, allow=origin) as site, page_in(name, request) as page:
        assert run(["embed", site.url]) == 0
        script, element = capsys.readouterr().out.splitlines()
        assert site.task.helper in element
        shown["html"] = PAGE.replace("{script}", script).replace("{element}", element.replace(" ", ' limit="9" ', 1))
        page.before(CLOCK.format(ahead=site.ahead - DAY))
        page.goto(origin)
        page.wait_for(f"() => Boolean({FRONT}.sums?.tick)")  # the ledger has begun
        set_clock(page, site, site.clock.now)
        page.goto(origin)
        page.wait_for(f"() => {FRONT}.shadowRoot?.querySelectorAll('a[href]').length >= 9")
        first = page.evaluate(SHOWN)
        page.wait_for(f"() => {FRONT}.sums !== null && {FRONT}.device.status().articles > 9")
        page.wait_for(f"async () => (await {FRONT}.sums.state()).tasks.length === 1")
        picture(page, name, "element")

        set_clock(page, site, site.task.begins(NUMBER) + 100.0)
        read = page.evaluate(READ_FIVE)
        assert (read["clicks"], read["after"] < read["before"]) == (5, True), read
        assert page.evaluate(SHOWN) != first

        site.end_window()
        set_clock(page, site, site.task.sent_until(NUMBER) - 1.0)
        page.wait_for(CONTRIBUTED)
        assert site.learn() == 1
        page.evaluate(f"() => {{ {FRONT}.shadowRoot.querySelector('details').open = true; }}")
        page.wait_for(
            f"() => {FRONT}.shadowRoot.querySelector('details').textContent.includes('1 contribution has left')"
        )
        assert page.evaluate(CONTRIBUTED) == 1
        picture(page, name, "element-read")
        assert page.errors == []


def set_clock(page: Any, site: SumsSite, moment: float) -> None:
    site.clock.now = moment
    page.evaluate("(ahead) => { localStorage.ahead = ahead; }", site.ahead)


def picture(page: Any, name: str, what: str) -> None:
    if folder := os.environ.get("DISCREET_SCREENSHOTS"):
        page.screenshot(Path(folder) / f"{what}-{name}.png")
