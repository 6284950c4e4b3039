"""Each article's popularity, as `front_page` learns it from noised sums, over a catalogue that changes.

The posterior stands on rows of a fixed catalogue (`ClickRates`). Here it is kept by article ids and category names, and
put on the catalogue's rows whenever it is used. Articles that were taken down are forgotten.

**Exposure.** Where the publisher logs which slates were shown, it is known (`logged_exposure`). Where devices rank the
whole catalogue by themselves, nobody knows what they showed. But the server knows the score that each article has for
everybody, and about how much readers differ: that gives the probability that an article is among the first that a
device shows (`expected_shares`). An article that is clicked more because popularity put it on top was also shown more,
and is not taken for more popular still.
"""

from __future__ import annotations

import io

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from discreet.methods.front_page.click_rates import ClickRates
from discreet.methods.front_page.count_likelihood import CountLikelihood
from discreet.methods.front_page.windows import Window
from discreet.serving.learning.model_versions import ModelVersions
from discreet.serving.learning.window_store import Learnt, UsedSum, WindowStore
from discreet.serving.public_model import PublicModel
from discreet.serving.snapshot import Snapshot

SHOWN = 20
"""How many articles a front shows: as many as a device's view has."""
_CATEGORY = 0.7
_NO_NOISE = CountLikelihood(0.0)
_BY_ARTICLE = ("evidence", "sums", "shown")
_WHOLE = ("until", "level")


class SumPopularity:
    """The popularity that a server sends, from what the database has of it."""

    def __init__(self, model: PublicModel, store: WindowStore, versions: ModelVersions) -> None:
        self._model, self._store, self._versions = model, store, versions
        self._learnt = Learnt(0, b"")

    def read(self) -> None:
        """Take over what was learnt, here or on another server; after a rollback, what was known in that version."""
        chosen = self._versions.chosen(self._model.version)
        self._learnt = self._store.learnt(self._model.version) if chosen is None else Learnt(*chosen)

    def of(self, snapshot: Snapshot) -> NDArray[np.float64]:
        """The log rate of each listed article; one that no window has had yet has that of its text."""
        rates = rates_on(self._model, snapshot, self._learnt.state, _NO_NOISE)
        return rates.log_rate(np.arange(len(snapshot)))


def learnt_from(model: PublicModel, snapshot: Snapshot, state: bytes, used: UsedSum) -> bytes:
    """What is known after one more sum."""
    closed, released, contributions = used.closed, used.found.values, max(1, used.found.contributions or 0)
    rates = rates_on(model, snapshot, state, CountLikelihood(float(used.task.noise_scale)))
    place = {article: row for row, article in enumerate(snapshot.ids)}
    listed = np.array([article in place for article in closed.cells], np.bool_)
    if listed.any():
        rows = np.array([place[article] for article in closed.cells if article in place], np.int64)
        exposure = closed.slates_of_each(contributions)[listed]
        rates.update(Window(closed.end, rows, exposure, released[: len(closed.cells)][listed]))
    return packed(rates, snapshot)


def rates_on(model: PublicModel, snapshot: Snapshot, state: bytes, likelihood: CountLikelihood) -> ClickRates:
    """What is known, on the rows of a catalogue."""
    rates = ClickRates(likelihood, article_text(model, snapshot))
    if state:
        with np.load(io.BytesIO(state), allow_pickle=False) as kept:
            found = dict(kept)
        place = {article: row for row, article in enumerate(snapshot.ids)}
        names = found["articles"].tolist()
        listed = np.array([name in place for name in names], np.bool_)
        slope = dict(zip(found["categories"].tolist(), found["slope"][len(model.space) :].tolist(), strict=True))
        of_categories = [slope.get(category, 0.0) for category in snapshot.categories]
        rates.restore(
            {
                **{name: found[name] for name in _WHOLE},
                **{name: found[name][listed] for name in _BY_ARTICLE},
                "article": np.array([place[name] for name in names if name in place], np.int64),
                "slope": np.concatenate((found["slope"][: len(model.space)], of_categories)),
            }
        )
    return rates


def expected_shares(base: NDArray[np.floating], deviation: float) -> NDArray[np.float64]:
    """The share of all exposure that each article has, by its score for everybody.

    A device shows the articles with the largest base + personal part. The latter is taken to be normal, with a standard
    `deviation`, and each article is shown with the probability that it is among the first `SHOWN`.
    """
    count = len(base)
    if count <= SHOWN:
        return np.full(count, 1 / max(1, count))
    standard = np.asarray(base, np.float64) / deviation
    least, most = float(standard.min()) - 10, float(standard.max()) + 10
    for _ in range(60):
        middle = (least + most) / 2
        least, most = (middle, most) if ndtr(standard - middle).sum() > SHOWN else (least, middle)
    shown = ndtr(standard - least)
    return np.asarray(shown / shown.sum())


def article_text(model: PublicModel, snapshot: Snapshot) -> NDArray[np.float64]:
    """What popularity is predicted from: the similarity with public topics, and the category."""
    one_hot = np.zeros((len(snapshot), len(snapshot.categories)))
    one_hot[np.arange(len(snapshot)), snapshot.category] = _CATEGORY
    return np.concatenate((model.topic_features(snapshot.scores.exact), one_hot), axis=1)


def packed(rates: ClickRates, snapshot: Snapshot) -> bytes:
    """What is known, by article ids and category names, as it is kept."""
    state = rates.state()
    kept = {name: state[name] for name in (*_WHOLE, *_BY_ARTICLE, "slope")}
    kept["articles"] = np.array([snapshot.ids[row] for row in state["article"].tolist()], np.str_)
    kept["categories"] = np.array(list(snapshot.categories), np.str_)
    place = io.BytesIO()
    np.savez(place, allow_pickle=False, **kept)
    return place.getvalue()
