"""A visit to the served page in Chromium, for tests: what the page asked for, complained of, and shows as sent."""

from __future__ import annotations

from typing import Any

DAY = 86_400
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
PATIENCE = 60_000  # milliseconds that a busy machine may need; conditions are waited for, and not times
AHEAD = "{ const now = Date.now; Date.now = () => now() + 1000 * (localStorage.ahead ?? 0); }"
"""The page's clock, which a test can put ahead: no epoch is shorter than a day."""


def expect(locator: Any) -> Any:
    """What a locator must come to show, in that time."""
    from playwright.sync_api import expect as within

    within.set_options(timeout=PATIENCE)
    return within(locator)


class Visit:
    """A page, and everything that it asked for and complained of."""

    def __init__(self, context: Any, url: str) -> None:
        self.url = url
        self.requests: list[Any] = []
        self.answers: list[Any] = []
        self.complaints: list[str] = []
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.add_init_script(AHEAD)
        self.page.on("request", lambda request: self.requests.append(request))
        self.page.on("response", lambda answer: self.answers.append(answer))
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def open(self) -> Visit:
        self.page.goto(self.url)
        self.page.wait_for_selector("html[data-ready]")
        return self

    def end_epoch(self) -> None:
        """A day passes; the page sees it at its next second."""
        self.page.evaluate(f"localStorage.ahead = Number(localStorage.ahead ?? 0) + {DAY}")

    def posts(self) -> list[str]:
        return [request.post_data for request in self.requests if request.method == "POST"]

    def read(self, which: str, times: int) -> list[str]:
        """Open that many articles of the front page, the highest of a kind (a CSS selector) each time; their ids."""
        read = []
        for _ in range(times):
            article = self.page.locator(f"#articles > {which}").first
            read.append(str(article.get_attribute("data-article")))
            article.locator("button").click()
            expect(self.page.locator(f"#articles > [data-article={read[-1]}]")).to_have_count(0)
            self.page.keyboard.press("Escape")
            self.page.wait_for_function("() => !history.state?.reader && !document.getElementById('reader').open")
        return read

    def order(self) -> list[tuple[str, str]]:
        """Id and topic of every ranked article, best first."""
        self.page.evaluate("() => { const more = document.getElementById('more'); while (!more.hidden) more.click(); }")
        script = "items => items.map(item => [item.dataset.article, item.dataset.topic])"
        return [(article, topic) for article, topic in self.page.locator("#articles > li").evaluate_all(script)]

    def sent(self) -> list[tuple[str, str, str, str]]:
        """Title, time with size, numbers and exact text of what the panel shows as sent, oldest first."""
        script = """items => items.map(item => [item.querySelector(".head").firstChild.data,
            item.querySelector(".head span").textContent,
            [...item.querySelectorAll(".numbers")].map(line => line.textContent).join(";"),
            item.querySelector("pre").textContent])"""
        return [tuple(row) for row in reversed(self.page.locator("#sent > li").evaluate_all(script))]

    def wait_for(self, title: str) -> None:
        expect(self.page.locator("#sent .head", has_text=title).first).to_be_visible()
