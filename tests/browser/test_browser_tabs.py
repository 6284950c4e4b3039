"""Several tabs of one reader are one device, also without Web Locks; and a browser may keep nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from chromium import ORIGIN, blank_page, files_only, open_device


@pytest.fixture
def tabs(browser: Any) -> Iterator[list[Any]]:
    with files_only(browser) as context:
        pages = [blank_page(context) for _ in range(3)]
        assert pages[0].evaluate("() => navigator.locks === undefined"), "plain http has no Web Locks"
        for page in pages:
            open_device(page)
        yield pages
        assert [page.complaints for page in pages] == [[], [], []]


def all_at_once(tabs: list[Any], script: str) -> list[Any]:
    """Start it in every tab, then wait for every tab."""
    for page in tabs:
        page.evaluate(f"() => {{ window.running = (async () => {{ {script} }})(); }}")
    return [page.evaluate("() => window.running") for page in tabs]


def test_three_tabs_make_one_label_and_one_sketch(tabs: list[Any]) -> None:
    first = tabs[0]
    first.evaluate("async () => { const front = await device.front(5); await device.clicked('N3', front.slate); }")
    for page in tabs:
        page.evaluate("() => { window.now += 604800; }")
    all_at_once(tabs, "await device.releaseDue(); await device.front(5); await device.releaseDue();")
    debits = [page.evaluate("async () => { await device.load(); return device.budget().debits; }") for page in tabs]
    assert [sorted(debit["purpose"] for debit in seen) for seen in debits] == [["label", "sketch"]] * 3
    bodies = [page.evaluate("() => publisher.bodies('/v1/reports')") for page in tabs]
    releases = {(report["kind"], report["id"], report["release"]) for sent in bodies for report in sent}
    assert sorted(kind for kind, *_ in releases) == ["label", "sketch"], "the same bytes, whoever sends them"


def test_a_click_in_a_second_tab_is_in_the_sketch_of_the_first(tabs: list[Any]) -> None:
    first, second, third = tabs
    first.evaluate("() => device.clicked('N1')")
    second.evaluate("() => device.clicked('N2')")
    for page in tabs:
        page.evaluate("() => { window.now += 604800; }")
    first.evaluate("() => device.releaseDue()")
    assert [report["clicks"] for report in first.evaluate("() => publisher.bodies('/v1/reports')")] == [2]
    third.wait_for_function("() => device.kept().clicks === 2 && device.budget().debits.length === 1")


def test_forgetting_in_one_tab_clears_the_others(tabs: list[Any]) -> None:
    first, second, third = tabs
    third.evaluate("() => { device.onchange = (what) => { window.heard = what; }; }")
    second.evaluate("() => device.clicked('N2')")
    first.wait_for_function("() => device.kept().clicks === 1")
    first.evaluate("() => device.forget()")
    for page in (second, third):
        page.wait_for_function("() => device.kept().clicks === 0 && device.articles().length === 0 && !device.model")
    third.wait_for_function("() => window.heard === 'forgotten'")


def test_a_limit_set_in_one_tab_holds_in_the_others(tabs: list[Any]) -> None:
    first, second, _ = tabs
    second.evaluate("async () => { await device.clicked('N2'); window.now += 604800; }")
    first.evaluate("() => device.settings({ epsilon: 0 })")
    second.evaluate("() => device.releaseDue()")
    assert second.evaluate("() => device.budget().debits") == []


NO_DATABASE = {
    "missing": "Object.defineProperty(window, 'indexedDB', { value: undefined })",
    "denied": "Object.defineProperty(window, 'indexedDB', { get() { throw new DOMException('no'); } })",
    "refused": """indexedDB.open = () => { const request = { error: new Error("refused") };
        setTimeout(() => request.onerror()); return request; }""",
    "silent": "indexedDB.open = () => ({})",
}


@pytest.mark.parametrize("way", NO_DATABASE)
def test_without_a_database_the_device_works_in_memory(browser: Any, way: str) -> None:
    with files_only(browser) as context:
        page = context.new_page()
        page.add_init_script(NO_DATABASE[way])
        page.goto(f"{ORIGIN}/")
        open_device(page)
        assert page.evaluate("() => device.status().lasts") is False
        page.evaluate("async () => { await device.clicked('N3'); window.now += 604800; await device.releaseDue(); }")
        assert page.evaluate("() => publisher.reports.size") == 1


def older_database(page: Any, **click: object) -> None:
    """A database of the first version, with a click and a debit."""
    page.evaluate(
        """(click) => new Promise((resolve) => {
          const request = indexedDB.open("test", 1);
          request.onupgradeneeded = () => {
            for (const name of ["clicks", "debits", "slates", "reports", "sent"]) {
              request.result.createObjectStore(name, { keyPath: "number", autoIncrement: true });
            }
            for (const [name, key] of [["meta", "name"], ["sketches", "epoch"], ["articles", "id"]]) {
              request.result.createObjectStore(name, { keyPath: key });
            }
          };
          request.onsuccess = () => {
            const stores = request.result.transaction(["meta", "clicks", "debits"], "readwrite");
            const value = { lifetime: 1, adjacency: "substitute", start: 1767225600, length: 604800,
              created: 1767225600, latest: 1773277200, forgottenThrough: -1 };
            stores.objectStore("meta").put({ name: "ledger", value });
            stores.objectStore("clicks").add({ time: 1, epoch: 9, article: "N1", category: "health", slate: null,
              open: false, space: "space-1", topic: 1, vector: "AAAAAAAAAAA=", ...click });
            stores.objectStore("debits").add({ time: 1, purpose: "sketch", part: "", epoch: 9, epsilon: 0.7, clicks: 1,
              state: "never finished", mechanism: "topic counts", version: 1, payload: null });
            stores.oncomplete = () => { request.result.close(); resolve(); };
          };
        })""",
        click,
    )


def test_the_ledger_of_an_older_page_goes_on(browser: Any) -> None:
    """A database of the first version: its debits and clicks stay, the rest begins anew."""
    with files_only(browser) as context:
        page = blank_page(context)
        older_database(page)
        open_device(page)
        page.evaluate("() => device.releaseDue()")
        assert page.evaluate("() => device.kept().clicks") == 1
        assert page.evaluate("() => device.budget().debits.map((debit) => debit.epoch)") == [9]
        assert page.evaluate("() => publisher.reports.size") == 0


@pytest.mark.parametrize("article", ["N1", "gone"])
def test_what_an_older_page_took_unchecked_tells_nothing(browser: Any, article: str) -> None:
    """A slate that the server named by the name that a later one would have, and a vector that is none."""
    with files_only(browser) as context:
        page = blank_page(context)
        slate = {"model": "model-1", "slate": "1".zfill(32), "signature": "signed-1"}
        slate["articles"] = [{"id": f"N{number}", "base": 1} for number in range(12)]  # type: ignore[assignment]
        name = page.evaluate("async (slate) => (await import('/web/device/slates.js')).slateName(slate)", slate)
        older_database(page, article=article, slate=name, vector="*")
        open_device(page)
        page.evaluate(
            """async (slate) => {
              publisher.recommend = () => slate;
              await device.front(5);
              window.now += 604800;
              await device.releaseDue();
            }""",
            slate,
        )
        assert page.evaluate("() => publisher.bodies('/v1/reports')") == []
        assert page.evaluate("() => device.status().problem") is None


def test_two_devices_of_one_origin_pay_for_sums_from_one_budget(tabs: list[Any]) -> None:
    script = """async (name) => {
      const { openSharedBudget } = await import("/web/device/sums/shared_budget.js");
      const { openStorage } = await import("/web/device/storage.js");
      const own = await openStorage(name), random = (count) => new Uint8Array(count).fill(name.length);
      await openSharedBudget({ own, random, now: () => 0 });
      const budget = await openSharedBudget({ own, random, now: () => 86400 });
      const debit = { task: "t", part: "day 1", day: 1, epsilon: 0.6, delta: 0 };
      const later = { ...debit, part: "day 2", day: 2 }, before = { ...debit, part: "day 0", day: 0, number: 1 };
      const paid = [await budget.pay(debit, [before]), await budget.pay(debit, [before]), await budget.pay(later, [])];
      return [budget.obstacle, paid, (await budget.debits([])).map(({ device, day }) => [device, day])];
    }"""
    first, second = tabs[0].evaluate(script, "a"), tabs[1].evaluate(script, "of b")
    one, other = "01" * 16, "04" * 16
    assert first == [None, [True, True, True], [[one, day] for day in (0, 1, 2)]]
    assert second == [None, [False, False, False], [*first[2], [other, 0]]], "what was paid before counts at once"
