"""Learn popularity, weights and head again from released sums that are kept, for another text source or method.

Nothing is asked of any reader, and nothing costs anything: the sums were released, and whatever is made of them is
post-processing. The result is a model version like any other, and can be rolled back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from discreet.aggregation.task import Task
from discreet.errors import DiscreetError
from discreet.progress import track
from discreet.serving.database_tables import open_engine
from discreet.serving.learning.model_versions import NewVersion
from discreet.serving.learning.sum_popularity import learnt_from
from discreet.serving.learning.sum_weights import learns_weights
from discreet.serving.learning.window_store import WindowStore
from discreet.serving.public_model import PublicModel
from discreet.serving.server_store import ServerStore
from discreet.serving.service import Service


@dataclass(frozen=True)
class Retrained:
    """The new version, and from how many sums it was made; `before` is the version that was the latest."""

    version: str
    model: str
    sums: int
    before: str | None


def taught_by(place: str) -> list[Task]:
    """The task of the last kept sum of weights: it says whether a head is learnt."""
    store = ServerStore(open_engine(place))
    try:
        return [used.task for used in WindowStore(store).used() if learns_weights(used.task)][-1:]
    finally:
        store.close()


def retrain(service: Service, clock: Callable[[], float] = time.time) -> Retrained:
    """Forget what is known of the service's model, and learn from all kept sums in their order.

    Raises:
        DiscreetError: There is nothing to learn from, or a server was faster.
    """
    model, store = service.model, WindowStore(service.store)
    if not isinstance(model, PublicModel):
        raise DiscreetError("sums teach popularity and weights to front_page only: name a run of it, or none")
    service.updater.step()
    before, latest = store.learnt(model.version), service.versions.listing(1)
    sums = sorted(store.used(), key=lambda used: (used.closed.end, learns_weights(used.task)))
    if not sums:
        raise DiscreetError("this database keeps no sum that anything could be learnt from")
    state = b""
    for used in track(sums, "Learning from kept sums"):
        state = learnt_from(model, service.updater.snapshot, state, used)
    new = NewVersion(model.version, int(clock()), before.sums + 1, f"learnt again from {len(sums)} sums")
    if not store.renew(before, state, new):
        raise DiscreetError("a server has learnt from another sum meanwhile; run it again")
    version = service.versions.listing(1)[0].version
    return Retrained(version, model.version, len(sums), latest[0].version if latest else None)
