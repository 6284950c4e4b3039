"""Both aggregators in one process, to try learning out. One party then sees everything: nobody is protected from it.

All files are made at the first start, in a folder next to the catalogue: keys, tokens, databases, and the task. The
helper has an address of its own, because devices refuse a task whose aggregators have one address.
"""

from __future__ import annotations

import ipaddress
import json
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from discreet.aggregation.dap.config import Config
from discreet.aggregation.dap.key_files import public_path, read_task, write_key, write_secret
from discreet.aggregation.task import DAY, Task
from discreet.errors import DiscreetError
from discreet.files import replacing_file
from discreet.methods.front_page.learnt_weights import weights_task
from discreet.methods.front_page.windows import popularity_task
from discreet.privacy.guarantee import Guarantee, Scope
from discreet.protocol.check import limits
from discreet.protocol.weight_cells import MAX_DIRECTIONS
from discreet.serving.addresses import Proxies, listen, url_of
from discreet.serving.aggregation import MAX_JOB_BODY, PREFIX, Aggregator, open_helper, open_leader
from discreet.serving.gate import Gate, Metrics
from discreet.serving.http import http_server, within_reach
from discreet.serving.learning.experiment import Experiment, arm_names
from discreet.serving.learning.public_terms import PublicTerms
from discreet.serving.learning.quality_estimates import quality_name, quality_task
from discreet.serving.limits import ServerLimits
from discreet.serving.status import TRIAL

FOLDER = "trial-sums"
ROOM = 1000
"""For how many articles a window has room: those with the best scores for everybody."""
WARNING = TRIAL
_DAYS = 400


@dataclass(frozen=True)
class Trial:
    """Leader, helper and collector of a trial."""

    leader: Aggregator
    helper: EmbeddedHelper


class EmbeddedHelper:
    """A helper that answers at an address of its own, from a thread of this process."""

    def __init__(self, aggregator: Aggregator, listener: socket.socket) -> None:
        self._aggregator = aggregator
        bounds = within_reach(ServerLimits(max_body=MAX_JOB_BODY, max_admin_body=MAX_JOB_BODY, rate=0))
        self._server = http_server(Gate(aggregator.app, bounds, Metrics(), Proxies()))
        self._thread = threading.Thread(target=self._server.run, args=([listener],), name="helper", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._aggregator.start()
        self._thread.start()

    def close(self) -> None:
        """Answer no more."""
        self._server.should_exit = True
        self._thread.join()
        self._aggregator.close()


def open_trial(folder: Path, address: str, terms: PublicTerms, experiment: Experiment | None = None) -> Trial:
    """Both aggregators for a server at `address`; their files are in `folder`, and made if they are not there."""
    host = urlsplit(address).hostname or ""
    require_this_machine(host)
    make_secrets(folder)
    popularity, quality = "task.json", f"quality-{'all' if experiment is None else experiment.id}.json"
    kept = read_task(folder / popularity) if (folder / popularity).exists() else None
    listener = _listen_again(host, kept)
    leader_url, helper_url, now = f"{address}{PREFIX}", url_of(listener), int(time.time())
    tasks = {popularity: trial_task(terms, leader_url, helper_url, now)}
    if terms.quality_epsilon:
        tasks[quality] = trial_quality_task(terms, experiment, leader_url, helper_url, now)
    if terms.weights_epsilon:
        tasks["weights.json"] = trial_weights_task(terms, leader_url, helper_url, now)
    leader, helper = trial_configs(folder, tasks)
    return Trial(open_leader(leader), EmbeddedHelper(open_helper(helper), listener))


def require_this_machine(host: str) -> None:
    """An error unless only this machine reaches the address."""
    try:
        is_here = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_here = False
    if not is_here:
        raise DiscreetError("--helper embedded is a trial on one machine: leave --host at 127.0.0.1")


def trial_configs(folder: Path, tasks: Mapping[str, Task]) -> tuple[Config, Config]:
    """Leader and helper of tasks, which are kept under these names in a folder that has the secrets."""
    for name, task in tasks.items():
        _settle(folder / name, task)
    agreed = [{"terms": name, "verify_key": "verify", "collector": "collector.key.pub"} for name in tasks]
    leader = Config(
        database="leader.sqlite",
        keys=["leader.key"],
        tasks=agreed,
        helper_token="leader.token",
        collector_token="collector.token",
        collector_key="collector.key",
        max_reports_of_one=0,
        path=folder / "leader.toml",
    )
    helper = Config(
        database="helper.sqlite",
        keys=["helper.key"],
        tasks=agreed,
        leader_token="leader.token",
        rate=0.0,
        path=folder / "helper.toml",
    )
    return leader, helper


def _settle(path: Path, task: Task) -> None:
    """Keep the task that is there if it has these terms, whenever it began; other terms are another task."""
    kept = read_task(path) if path.exists() else None
    if kept is None or replace(task, start=kept.start) != kept:
        with replacing_file(path, 0o600) as draft:
            draft.write_text(json.dumps(task.to_json(), indent=2) + "\n", encoding="utf-8")


def trial_task(terms: PublicTerms, leader: str, helper: str, now: int) -> Task:
    """The sums of a trial. Their terms say what it is, so that every device tells its reader."""
    task = popularity_task(
        terms.window_seconds,
        terms.popularity_price,
        terms.max_clicks,
        length=ROOM,
        start=now // DAY * DAY,
        windows=_DAYS * DAY // terms.window_seconds,
        leader=leader,
        helper=helper,
    )
    sent = min(terms.window_seconds, limits.min_send_seconds)
    return replace(_said(task), send_seconds=sent)


def trial_quality_task(terms: PublicTerms, experiment: Experiment | None, leader: str, helper: str, now: int) -> Task:
    """What measures how good the ranking is, a day at a time, from the rest of the day's ε."""
    return _said(
        quality_task(
            arm_names(experiment),
            terms.quality_epsilon,
            start=now // DAY * DAY,
            windows=_DAYS,
            name=quality_name(experiment),
            leader=leader,
            helper=helper,
        )
    )


def trial_weights_task(terms: PublicTerms, leader: str, helper: str, now: int) -> Task:
    """What the weights, and perhaps a head, are learnt from, a day at a time."""
    start, directions = now // DAY * DAY, MAX_DIRECTIONS if terms.head_share else 0
    task = weights_task(
        terms.weights_epsilon, directions=directions, start=start, windows=_DAYS, leader=leader, helper=helper
    )
    return _said(task)


def _said(task: Task) -> Task:
    return replace(task, name=f"{task.name} (trial)", purpose=f"{WARNING} {task.purpose}")


def trial_guarantee() -> Guarantee:
    """What a reader is promised in a trial: nothing."""
    return Guarantee.unprotected(f"clicks in sums; {WARNING.rstrip('.')}", Scope.DAY)


def make_secrets(folder: Path) -> None:
    """Keys and tokens of a trial, each made once."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in ("leader.key", "helper.key", "collector.key"):
        if not public_path(folder / name).exists():  # it is written last
            (folder / name).unlink(missing_ok=True)
            write_key(folder / name)
    for name in ("verify", "leader.token", "collector.token"):
        if not (folder / name).exists():
            write_secret(folder / name)


def _listen_again(host: str, kept: Task | None) -> socket.socket:
    """At the helper's address of last time, since it is in the task's terms; or, where that is taken, at another."""
    try:
        return listen(host, 0 if kept is None else urlsplit(kept.helper).port or 0)
    except DiscreetError:
        return listen(host, 0)
