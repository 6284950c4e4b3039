"""Hostile conversations about sums, one for each kind of check, and what an adversary sees of a device in them.

The judge knows nothing of the device's own arithmetic. It takes what was sent: a report of values v costs its reader
ε·|v|₁ / `max_total`, because that is how far the noised sum tells it from nothing; all reports of a day and of a life
add up.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from sums_tools import CELLS, CELLS_PAGE, DAY, HELPER, START, task

from discreet.aggregation.dap.hpke import generate_key
from discreet.aggregation.dap.messages import HpkeConfigList
from discreet.aggregation.task import _canonical
from discreet.audits.hostile_server.publisher import WEEK, public_model

HOUR = 3600
BEFORE = -100 / HOUR
Click = tuple[float, str]

HOURLY: list[Click] = [(START + HOUR * hour + 60, f"N{hour % 6}") for hour in range(14 * 24)]
KEYS = HpkeConfigList((generate_key(3).config,)).encode().hex()
PLAIN, HERE = "http://plain.example/", "http://127.0.0.1:2/"
_MOST = {"max_day_epsilon": 1.0, "max_life_epsilon": 10.0}
_MEASURES = {"clicks by cell": True, "clicks": False, "ranking quality": True, "weights of features": True}
"""Whether their values stand for something."""


def told(**terms: Any) -> dict[str, Any]:
    """Terms as a publisher may tell them, also such as no honest one can make."""
    return {**task().to_json(), **terms}


def page(cells: Sequence[str]) -> str:
    return json.dumps({"cells": cells})


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def until(hours: float) -> list[Any]:
    return ["until", START + hours * HOUR]


def clock(hours: float) -> list[Any]:
    return ["clock", START + hours * HOUR]


def conversation(*tasks: dict[str, Any], hours: float = 3, **changes: Any) -> dict[str, Any]:
    """A page that was opened on the day before, and a device that runs for some hours."""
    short = [*CELLS[:5]]
    return {
        "model": {**public_model(6), "schedule": {"start": "2020-01-01T00:00:00+00:00", "length_seconds": WEEK}},
        "catalogue": None,
        "tasks": list(tasks),
        "cells": {digest(text): text for text in (CELLS_PAGE.decode(), page(short), page([*short, short[0]]))},
        "keys": KEYS,
        "helpers": [HELPER, PLAIN, HERE],
        "limits": {},
        "now": START - DAY - 100,
        "steps": [["open"], clock(BEFORE), ["announce", None], ["open"], until(hours)],
        "readers": [[], HOURLY],
        **changes,
    }


def each(**terms: Sequence[Any]) -> dict[str, Any]:
    """One task for each value of a term."""
    ((field, values),) = terms.items()
    return conversation(*(told(**{field: value, "name": f"task {number}"}) for number, value in enumerate(values)))


def steps(*more: Sequence[Any], places: Sequence[int] | None = None) -> list[Sequence[Any]]:
    return [["open"], clock(BEFORE), ["announce", places], ["open"], *more]


WINDOW = {"per": "window", "epsilon": 0.01}
CONVERSATIONS: dict[str, dict[str, Any]] = {
    "a task says what it is for": conversation(told(purpose="")),
    "a measure is known": conversation(told(measure="titles", cells="")),
    "values stand for something": conversation(told(measure="clicks by cell", cells="")),
    "a list of numbers is short": conversation(
        told(kind="multihot", length=20_001, max_value=1, max_total=1, cells="window")
    ),
    "a window is long": conversation(told(**WINDOW, window_seconds=288, send_seconds=120), hours=1),
    "windows divide a day": conversation(told(**WINDOW, window_seconds=7000, start=START - START % 7000), hours=6),
    "windows begin with a day": conversation(told(**WINDOW, start=START + HOUR // 2)),
    "there is time to send": conversation(told(send_seconds=59)),
    "a task is not too dear": conversation(told(epsilon=1.01)),
    "δ is small": conversation(told(noise="discrete_gaussian", delta=1.1e-6, epsilon=0.3)),
    "the helper is trusted": each(
        helper=["https://other.example/", "https://helper.example.other/", "https://helper.example/other", HELPER[:-2]]
    ),
    "aggregators are two": each(leader=[HELPER, HELPER[:-1], "https://HELPER.example:443/leader"]),
    "addresses are secret on the way": conversation(
        told(helper=PLAIN), told(name="leader", leader="http://localhost.example/")
    ),
    "a trial is told": conversation(told(leader="http://localhost:1/", helper=HERE)),
    "terms hold under a name": conversation(
        told(),
        told(windows=200),
        steps=steps(until(2.5), ["announce", [1]], until(5), places=[0]),
    ),
    "names are few": conversation(told(), told(name="one more"), limits={"max_task_names": 1}),
    "a list is the one that is named": conversation(told(), cells={task().cells: page(CELLS[::-1])}),
    "a list has one cell for each value": conversation(told(cells=digest(page(CELLS[:5])))),
    "the cells of a list differ": conversation(told(cells=digest(page([*CELLS[:5], CELLS[0]])))),
    "the list of a window is short": conversation(
        told(cells="window", length=2, max_total=60), cells={"0": page(CELLS), "1": page(CELLS)}
    ),
    "the cells of a window differ": conversation(told(cells="window"), cells={"0": page(["N0", "N5", "N0"])}),
    "a task counts from its next window on": conversation(
        told(), steps=[["open"], clock(0.5), ["announce", None], ["open"], until(3)]
    ),
    "a window counts once": conversation(told(), steps=steps(until(1 + 599 / HOUR), ["contribute"], until(3))),
    "a window is one of the task's": conversation(
        told(windows=3), steps=steps(until(2.5), clock(4 + 599 / HOUR), ["contribute"])
    ),
    "the time to send is drawn": conversation(
        told(),
        steps=steps(
            *(
                step
                for hour in (1, 2, 3)
                for step in (clock(hour + 0.01 / HOUR), ["contribute"], until(hour + 700 / HOUR))
            )
        ),
    ),
    "nothing is late": conversation(told(), steps=steps(clock(1 + 601 / HOUR), ["contribute"], until(3))),
    "a day has its budget": conversation(*(told(name=f"task {number}", epsilon=0.4) for number in range(3))),
    "a life has its budget": conversation(told(epsilon=1.0, window_seconds=DAY // 2), hours=13 * 24),
    "each window is paid": conversation(told(per="window", epsilon=0.3), hours=8),
    "a period that was paid, and is not known, is over": conversation(
        told(epsilon=0.4), steps=steps(until(3), ["lose"], until(9))
    ),
    "a day has one total": conversation(told(), hours=30),
    "a bug gives nothing beyond the bounds": conversation(told(), steps=steps(["break", "too much"], until(3))),
    "a bug gives no second total": conversation(told(), steps=steps(["break", "again"], until(3))),
    "a bug is not seen": conversation(told(), steps=steps(["break", "throws"], until(3))),
    "a histogram is not paid by the day": conversation(
        told(kind="histogram", max_value=1, max_total=1, epsilon=0.9), hours=5
    ),
    "days begin at midnight": conversation(
        told(start=START + HOUR, epsilon=0.9),
        hours=30,
        readers=[[], [(START + DAY + 60, "N1"), (START + DAY + 2 * HOUR, "N2")]],
    ),
    "debits outlive forgetting": conversation(told(epsilon=0.4), steps=steps(until(3), ["forget"], until(9))),
    "devices share a budget": conversation(told(epsilon=0.8), together=True, readers=[HOURLY, HOURLY]),
    "a ledger that was lost is another's": conversation(
        told(epsilon=0.8),
        steps=steps(until(20), ["renew"], ["open"], until(24 + 1 / HOUR), ["open"], until(25)),
    ),
    "the ledger does not last": conversation(told(), storages=["shared"], is_silent=True),
    "the shared ledger does not last": conversation(told(), storages=["own"], is_silent=True),
    "a page without an origin": conversation(told(), origin="null", is_silent=True),
    "a ledger was found again": conversation(
        told(),
        steps=[clock(BEFORE), ["announce", None], ["open"], clock(1 + 599 / HOUR), ["contribute"], until(30)],
        is_silent=True,
    ),
    "a ledger was found again on a later day": conversation(
        told(),
        steps=[clock(100 / HOUR), ["announce", None], ["open"], clock(2), ["open"], until(6)],
        is_silent=True,
    ),
    "a reader who stopped": conversation(told(), steps=steps(["stop"], ["tick", START + 5 * HOUR]), is_silent=True),
}


def problems(some: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the readers of a conversation overspent, or let be seen."""
    wrong = [line for one in found for line in one["thrown"]]
    reports = [report for one in found for report in one["given"]] if some.get("together") else None
    for one in found:
        wrong += _seen(some, one)
        wrong += _spent(some, one["given"] if reports is None else reports)
    if not some.get("together") and found[0]["seen"] != found[1]["seen"]:
        wrong.append("what is seen of one reader differs from what is seen of another")
    return wrong


def _terms(some: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The tasks by their ids."""
    return {_id(terms): terms for terms in some["tasks"]}


def _id(terms: Mapping[str, Any]) -> str:
    fields = sorted({**terms, "epsilon": float(terms["epsilon"]), "delta": float(terms["delta"])}.items())
    return digest("{" + ",".join(f"{_canonical(name)}:{_canonical(value)}" for name, value in fields) + "}")


def _seen(some: Mapping[str, Any], one: Mapping[str, Any]) -> list[str]:
    """What is wrong with single reports: to whom, of what, when."""
    wrong, known, since = [], _terms(some), _since(some)
    for now, name, time, values in one["given"]:
        terms = known[name]
        window = time - terms["start"] // terms["window_seconds"]
        begin = terms["start"] + window * terms["window_seconds"]
        end, size = begin + terms["window_seconds"], _size(terms, values)
        wrong += [
            text
            for text, is_so in {
                "it is not said what for": not terms["purpose"],
                "it is not known what is measured": terms["measure"] not in _MEASURES,
                "values stand for nothing": _MEASURES.get(terms["measure"]) != bool(terms["cells"]),
                "a very long report": terms["length"] > 20_000,
                "a short window": terms["window_seconds"] < 300,
                "a window of two days": _crosses_midnight(terms),
                "a short time to send": terms["send_seconds"] < 60,
                "a large δ": terms["delta"] > 1e-6,
                "a helper that nobody trusts": terms["helper"] not in some["helpers"],
                "one party with both halves": _origin(terms["leader"]) == _origin(terms["helper"]),
                "on the way in clear": any(_is_clear(terms[role]) for role in ("leader", "helper")),
                "a trial that is not told": "127.0.0.1" in terms["helper"] and not one["isTrial"],
                "a list that is not the one that was named": _is_other_list(some, terms, window, size),
                "it knew the task too late": begin < since,
                "a window that the task does not have": not 0 <= window < terms["windows"],
                "too early": now < end,
                "too late": now >= end + terms["send_seconds"],
                "a time that was not drawn": end <= now < end + 0.02,
                "beyond the bounds": size > terms["max_total"] or max(_values(values)) > terms["max_value"],
            }.items()
            if is_so
        ]
    windows = Counter((name, time) for _, name, time, _ in one["given"])
    wrong += ["a window twice"] * any(count > 1 for count in windows.values())
    named = {(known[name]["name"], name) for _, name, _, _ in one["given"]}
    wrong += ["two tasks of one name"] * (len({name for name, _ in named}) < len(named))
    wrong += ["too many names"] * (len(named) > some["limits"].get("max_task_names", 100_000))
    return wrong


def _spent(some: Mapping[str, Any], reports: Sequence[Any]) -> list[str]:
    """What all reports cost, as somebody who sees the noised sums."""
    days: defaultdict[int, float] = defaultdict(float)
    known = _terms(some)
    for _, name, time, values in reports:
        terms = known[name]
        days[time * terms["window_seconds"] // DAY] += terms["epsilon"] * _size(terms, values) / terms["max_total"]
    wrong = [f"a day cost {cost:g}" for cost in days.values() if cost > _MOST["max_day_epsilon"] + 1e-9]
    life = sum(days.values())
    periods: defaultdict[tuple[str, int], int] = defaultdict(int)
    for _, name, time, values in reports:
        seconds = known[name]["window_seconds"]
        periods[name, time * seconds // DAY if known[name]["per"] == "day" else -time] += _size(known[name], values)
    if not some.get("together"):
        wrong += [
            "more than a period's total" for (name, _), size in periods.items() if size > known[name]["max_total"]
        ]
    wrong += ["a report where none may be"] * bool(reports and some.get("is_silent"))
    return wrong + [f"a life cost {life:g}"] * (life > _MOST["max_life_epsilon"] + 1e-9)


def _since(some: Mapping[str, Any]) -> float:
    """When the tasks were announced first."""
    now = some["now"]
    for step in some["steps"]:
        if step[0] == "announce":
            break
        now = step[1] if step[0] == "clock" else now
    return float(now)


def _values(values: Any) -> list[int]:
    return [1] if isinstance(values, int) else [abs(value) for value in values]


def _size(terms: Mapping[str, Any], values: Any) -> int:
    return 1 if terms["kind"] == "histogram" else sum(_values(values))


def _crosses_midnight(terms: Mapping[str, Any]) -> bool:
    begins = (terms["start"] + window * terms["window_seconds"] for window in range(60))
    return any(begin // DAY != (begin + terms["window_seconds"] - 1) // DAY for begin in begins)


def _is_other_list(some: Mapping[str, Any], terms: Mapping[str, Any], window: int, size: int) -> bool:
    """Whether values were given to a list that nobody agreed to, or that does not fit the task."""
    if not terms["cells"]:
        return False
    is_fixed = terms["cells"] != "window"
    text = some["cells"].get(terms["cells"] if is_fixed else str(window), page([]))
    cells = json.loads(text)["cells"]
    if is_fixed:
        return digest(text) != terms["cells"] or len(set(cells)) != terms["length"] or len(cells) != terms["length"]
    return size > 0 and (len(cells) > terms["length"] or len(set(cells)) < len(cells))


def _is_clear(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme != "https" and parts.hostname not in ("localhost", "127.0.0.1")


def _origin(address: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(address)
    return parts.scheme, parts.hostname, parts.port or {"https": 443, "http": 80}[parts.scheme]
