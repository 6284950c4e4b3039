"""A server that begins with what a simulated week has taught: one model version for each of its days.

The sums are those of the simulator (`FrontPage.windows`), with their bounds and their noise. The server's own posterior
learns from them, over its own catalogue, and devices of its page are sent what it then knows.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from discreet.methods.front_page.front_page import FrontPage
from discreet.methods.front_page.windows import DAY
from discreet.methods.method import TrainingTask
from discreet.serving.learning.learnt_state import packed
from discreet.serving.learning.model_versions import NewVersion
from discreet.serving.learning.sum_popularity import by_names, rates_on
from discreet.serving.learning.window_store import WindowStore
from discreet.serving.public_model import PublicModel
from discreet.serving.service import Service


def teach(service: Service, task: TrainingTask, method: FrontPage, seed: int, later: int) -> int:
    """Let a service learn all days of a data set, which is its catalogue; how many versions that made.

    Args:
        service: What is served, with public weights.
        task: The data set.
        method: Whose sums are learnt from.
        seed: Of their noise.
        later: By how many seconds the data set's times were moved for the catalogue.
    """
    model, snapshot, store = service.model, service.updater.snapshot, WindowStore(service.store)
    assert isinstance(model, PublicModel)
    place = {name: row for row, name in enumerate(snapshot.ids)}
    rows = np.array([place[name] for name in task.data.articles.ids])
    rates = rates_on(model, snapshot, {}, method.popularity(task).likelihood)
    days: dict[int, tuple[int, bytes]] = {}
    for window in method.windows(task, seed):
        end = window.end + later
        rates.update(replace(window, end=end, articles=rows[window.articles]))
        days[(window.end - 1) // DAY] = end, packed(by_names(rates, snapshot))
    for number, (end, state) in enumerate(days.values(), start=1):
        made = min(end, int(time.time()))  # the last window may not be over yet
        new = NewVersion(model.version, made, number, f"day {number} of a simulated week")
        store.renew(store.learnt(model.version), state, new)
    service.updater.refresh()
    return len(days)
