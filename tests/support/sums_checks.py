"""Each check of a device's part in sums that protects its reader: how to take it out, in Python and in JavaScript.

A check names the conversation of `sums_conversations.py` that must find an overspend or a leak without it. Some have a
second check behind them; then all are taken out together. None stands for a check that a device has no use for.
"""

from __future__ import annotations

from dataclasses import dataclass

Change = tuple[str, str, str]
"""(file, text that is in it once, what stands in its place)."""


@dataclass(frozen=True)
class Check:
    """A check, by what holds with it."""

    name: str
    conversation: str
    python: tuple[Change, ...] | None
    javascript: tuple[Change, ...] | None


FLOORS = "edge/reader/sums/floors.py"
CONTRIBUTOR = "edge/reader/sums/contributor.py"
STORE = "edge/reader/sums/sums_store.py"
LEDGER = "edge/reader/sums/contribution_ledger.py"
CLIENT = "edge/reader/sums/sums_client.py"
TASK = "aggregation/task.py"
FLOORS_JS, CONTRIBUTOR_JS, BUDGET_JS = (f"sums/{name}.js" for name in ("floors", "contributor", "shared_budget"))


def _floor(name: str, python: str, javascript: str, conversation: str | None = None) -> Check:
    """A line of the floors, by how its condition begins in each language."""
    return Check(
        name,
        conversation or name,
        ((FLOORS, f"if {python}", f"if False and {python}"),),
        ((FLOORS_JS, f"if ({javascript}", f"if (false && {javascript}"),),
    )


CHECKS = [
    _floor("a task says what it is for", "not task.purpose", "!task.purpose"),
    Check(
        "a measure is known",
        "a measure is known",
        ((FLOORS, "if task.measure not in MEASURES", "if False"),),
        (
            (FLOORS_JS, "if (!Object.hasOwn(MEASURES, task.measure))", "if (false)"),
            (FLOORS_JS, "MEASURES[task.measure].needsCells !==", "!!MEASURES[task.measure]?.needsCells !=="),
        ),
    ),
    _floor("values stand for something", "(task.measure in WITH_CELLS)", "MEASURES[task.measure].needsCells"),
    _floor("a list of numbers is short", "task.length > limits", "task.length >"),
    _floor("a window is long", "task.window_seconds < limits", "task.window_seconds <"),
    Check(
        "windows divide a day",
        "windows divide a day",
        ((FLOORS, "if DAY % task.window_seconds or", "if"),),
        ((FLOORS_JS, "if (DAY % task.window_seconds || ", "if ("),),
    ),
    Check(
        "windows begin with a day",
        "windows begin with a day",
        ((FLOORS, " or task.start % task.window_seconds:", ":"),),
        ((FLOORS_JS, " || task.start % task.window_seconds)", ")"),),
    ),
    _floor("there is time to send", "task.sent_until(0)", "task.send_seconds <"),
    Check(
        "a task is not too dear",
        "a task is not too dear",
        ((FLOORS, "if task.epsilon > most", "if False"), (LEDGER, "day <= self.max_day_epsilon and", "")),
        (
            (FLOORS_JS, "if (task.epsilon > most)", "if (false)"),
            (BUDGET_JS, "day <= LIMITS.max_day_epsilon &&", ""),
        ),
    ),
    _floor("δ is small", "task.delta > self.delta", "task.delta >"),
    _floor("the helper is trusted", 'task.helper.rstrip("/") not in', "!helpers.some"),
    _floor("aggregators are two", "origin_of(task.leader) ==", "leader.origin ==="),
    Check(
        "addresses are secret on the way",
        "addresses are secret on the way",
        ((FLOORS, 'parts.scheme == "https" or (', 'parts.scheme == "https" or ("http" and True or '),),
        ((FLOORS_JS, 'address.protocol === "https:" ||', 'address.protocol.startsWith("http") ||'),),
    ),
    Check(
        "a trial is told",
        "a trial is told",
        ((FLOORS, "return all(urlsplit(address)", "return False and all(urlsplit(address)"),),
        ((FLOORS_JS, "return HERE.has(new URL(leader)", "return false && HERE.has(new URL(leader)"),),
    ),
    Check(
        "terms hold under a name",
        "terms hold under a name",
        (
            (STORE, "if row is not None and row[0] != task.id:", "if False:"),
            (STORE, "INSERT OR IGNORE INTO task", "INSERT OR REPLACE INTO task"),
        ),
        (
            (CONTRIBUTOR_JS, "if (known && known.id !== task.id)", "if (false)"),
            (CONTRIBUTOR_JS, "if (!(await tasks.get(task.name))) await tasks.put(row);", "await tasks.put(row);"),
        ),
    ),
    Check(
        "names are few",
        "names are few",
        ((STORE, "if row is None and count >= limits.max_task_names:", "if False:"),),
        ((CONTRIBUTOR_JS, "!known && count >= LIMITS.max_task_names", "false"),),
    ),
    Check(
        "a list is the one that is named",
        "a list is the one that is named",
        ((CLIENT, "if hashlib.sha256(answer).hexdigest() != task.cells:", "if False:"),),
        ((CONTRIBUTOR_JS, "if (sha256(reply.bytes) !== task.cells)", "if (false)"),),
    ),
    Check(
        "a list has one cell for each value",
        "a list has one cell for each value",
        ((CONTRIBUTOR, "(len(cells) != task.length or", "("),),
        ((CONTRIBUTOR_JS, "if (cells.length !== task.length || ", "if ("),),
    ),
    Check(
        "the cells of a list differ",
        "the cells of a list differ",
        ((CONTRIBUTOR, "or len(set(cells)) != len(cells)):", "or False):"),),
        ((CONTRIBUTOR_JS, "|| new Set(cells).size !== cells.length) throw", "|| false) throw"),),
    ),
    Check(
        "the list of a window is short",
        "the list of a window is short",
        ((CONTRIBUTOR, "if len(cells) <= known.task.length and", "if"),),
        ((CONTRIBUTOR_JS, "return cells.length <= task.length &&", "return"),),
    ),
    Check(
        "the cells of a window differ",
        "the cells of a window differ",
        ((CONTRIBUTOR, "and len(set(cells)) == len(cells) else", "else"),),
        ((CONTRIBUTOR_JS, "&& new Set(cells).size === cells.length ? cells : []", "? cells : []"),),
    ),
    Check(
        "a task counts from its next window on",
        "a task counts from its next window on",
        (
            (CONTRIBUTOR, "if known.since <= known.task.begins(window) and", "if"),
            (CONTRIBUTOR, "and known.since <= task.begins(window)", ""),
        ),
        (
            (CONTRIBUTOR_JS, "if (since > begins(task, next) || ", "if ("),
            (CONTRIBUTOR_JS, "|| since > begins(task, window)) continue", ") continue"),
            (CONTRIBUTOR_JS, "|| row.since > begins(row.task, window)) return", ") return"),
        ),
    ),
    Check(
        "a window counts once",
        "a window counts once",
        ((CONTRIBUTOR, "is_new = known.window < window and", "is_new ="),),
        (
            (CONTRIBUTOR_JS, "if (window <= done ||", "if ("),
            (CONTRIBUTOR_JS, "|| row.window >= window ||", "||"),
        ),
    ),
    Check(
        "a window is one of the task's",
        "a window is one of the task's",
        ((CONTRIBUTOR, "0 <= window < task.windows", "0 <= window"),),
        ((CONTRIBUTOR_JS, "|| window >= task.windows ||", "||"),),
    ),
    Check(
        "the time to send is drawn",
        "the time to send is drawn",
        ((CONTRIBUTOR, "self._due(task, window) <= now < ", "now < "),),
        ((CONTRIBUTOR_JS, "if (dueAt(secret, task, window) > now || ", "if ("),),
    ),
    Check(
        "nothing is late",
        "nothing is late",
        ((CONTRIBUTOR, "<= now < task.sent_until(window)", "<= now"),),
        ((CONTRIBUTOR_JS, "> now || now >= sentUntil(task, window)) continue", "> now) continue"),),
    ),
    Check(
        "a day has its budget",
        "a day has its budget",
        ((LEDGER, "day <= self.max_day_epsilon", "day <= 10 * self.max_day_epsilon"),),
        ((BUDGET_JS, "day <= LIMITS.max_day_epsilon", "day <= 10 * LIMITS.max_day_epsilon"),),
    ),
    Check(
        "a life has its budget",
        "a life has its budget",
        ((LEDGER, ".at(delta) <= self.budget.epsilon", ".at(delta) <= 10 * self.budget.epsilon"),),
        ((BUDGET_JS, "<= LIMITS.max_life_epsilon", "<= 10 * LIMITS.max_life_epsilon"),),
    ),
    Check(
        "what is given is paid",
        "a day has its budget",
        ((CONTRIBUTOR, "if not self._pay(known, window):", "if False:"),),
        ((CONTRIBUTOR_JS, "if (!isSame && !(mayPay && (await this.#pay(paid, task, window)))) {", "if (false) {"),),
    ),
    Check(
        "each window is paid",
        "each window is paid",
        ((CONTRIBUTOR, "if known.period == known.task.period(window):", "if known.period >= 0:"),),
        ((CONTRIBUTOR_JS, "isSame = row.period === period", "isSame = row.period >= 0"),),
    ),
    Check(
        "a period that was paid, and is not known, is over",
        "a period that was paid, and is not known, is over",
        (
            (
                CONTRIBUTOR,
                "return not self._ledger.has_paid(known.task, window) and self._ledger.pay(known.task, window)",
                "return self._ledger.has_paid(known.task, window) or self._ledger.pay(known.task, window)",
            ),
        ),
        (
            (
                CONTRIBUTOR_JS,
                "before.some((other) => other.task === debit.task && other.part === debit.part) ||",
                "",
            ),
        ),
    ),
    Check(
        "a day has one total",
        "a day has one total",
        ((CONTRIBUTOR, "task.total - given, counted)", "task.total, counted)"),),
        ((CONTRIBUTOR_JS, "task.max_total - given, new Set(counted)", "task.max_total, new Set(counted)"),),
    ),
    Check(
        "a bug gives nothing beyond the bounds",
        "a bug gives nothing beyond the bounds",
        (
            (
                CONTRIBUTOR,
                "task.checked(MEASURES[task.measure](task, observed, left))",
                "MEASURES[task.measure](task, observed, left)",
            ),
            (CONTRIBUTOR, "np.abs(values).sum() <= max(left, task.nothing().sum())", "True"),
        ),
        ((CONTRIBUTOR_JS, "return isWithin(task, values) && sizeOf(values) <=", "return true || sizeOf(values) <="),),
    ),
    Check(
        "a bug gives no second total",
        "a bug gives no second total",
        ((CONTRIBUTOR, "np.abs(values).sum() <= max(left, task.nothing().sum())", "True"),),
        ((CONTRIBUTOR_JS, "&& sizeOf(values) <= Math.max(left,", "&& sizeOf(values) <= Math.max(task.max_total,"),),
    ),
    Check(
        "a bug is not seen",
        "a bug is not seen",
        ((CONTRIBUTOR, "except Exception:", "except ZeroDivisionError:"),),
        ((CONTRIBUTOR_JS, "  } catch {\n    return nothing(task);", "  } catch (error) {\n    throw error;"),),
    ),
    Check(
        "a histogram is not paid by the day",
        "a histogram is not paid by the day",
        ((TASK, "_require(self.kind is not Kind.HISTOGRAM,", "_require(True,"),),
        (("sums/task.js", 'require(kind !== "histogram", "per");', ""),),
    ),
    Check(
        "days begin at midnight",
        "days begin at midnight",
        ((TASK, "_require(self.start % DAY == 0,", "_require(True,"),),
        (("sums/task.js", 'require(task.start % DAY === 0, "start");', ""),),
    ),
    Check(
        "debits outlive forgetting",
        "debits outlive forgetting",
        None,
        (("device.js", '"debits", "paid", "meta"', '"debits", "meta"'),),
    ),
    Check(
        "devices share a budget",
        "devices share a budget",
        None,
        ((BUDGET_JS, "if (!fits(kept, fresh)) return false;", ""),),
    ),
    Check(
        "a ledger that was lost is another's",
        "a ledger that was lost is another's",
        None,
        ((BUDGET_JS, "new SharedBudget(shared, mine.id,", 'new SharedBudget(shared, "device",'),),
    ),
    Check("a ledger lasts", "the ledger does not last", None, ((BUDGET_JS, "if (lost) return", "if (false) return"),)),
    Check(
        "the shared ledger lasts",
        "the shared ledger does not last",
        None,
        ((BUDGET_JS, "obstacleOf([own, shared],", "obstacleOf([own],"),),
    ),
    Check(
        "a page has an origin",
        "a page without an origin",
        None,
        ((BUDGET_JS, 'if (globalThis.origin === "null")', "if (false)"),),
    ),
    Check(
        "a ledger was found again",
        "a ledger was found again",
        None,
        ((BUDGET_JS, "if (!ledgers.every(", "if (false && !ledgers.every("),),
    ),
    Check(
        "a ledger was found again on a later day",
        "a ledger was found again on a later day",
        None,
        ((BUDGET_JS, "isFoundAgain: day < today", "isFoundAgain: day <= today"),),
    ),
    Check(
        "an obstacle stops contributions",
        "a ledger was found again",
        None,
        ((CONTRIBUTOR_JS, "if (this.obstacle) return 0;", ""),),
    ),
    Check(
        "a reader may stop",
        "a reader who stopped",
        None,
        (("sums/taking_part.js", "if (this.isStopped || this.#isBusy)", "if (this.#isBusy)"),),
    ),
    Check(
        "that she stopped is remembered",
        "a reader who stopped",
        None,
        (("sums/taking_part.js", "kept?.value.isStopped ?? false", "false"),),
    ),
]
