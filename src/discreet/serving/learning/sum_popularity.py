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

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from discreet.methods.front_page.click_rates import EXPOSURE_STATE, ClickRates
from discreet.methods.front_page.count_likelihood import CountLikelihood
from discreet.methods.front_page.exposure_slope import summed_up
from discreet.methods.front_page.windows import Window
from discreet.serving.learning.learnt_state import Arrays, packed, unpacked
from discreet.serving.learning.model_versions import ModelVersions
from discreet.serving.learning.sum_weights import (
    knows_head,
    learns_head,
    learns_weights,
    ranking_weights,
    slates_after,
    weights_after,
)
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
        self._learnt, self._known = Learnt(0, b""), unpacked(b"")
        self.model = model
        """With the weights that rank now, by what was learnt."""

    def read(self) -> None:
        """Take over what was learnt, here or on another server; after a rollback, what was known in that version."""
        chosen = self._versions.chosen(self._model.version)
        found = self._store.learnt(self._model.version) if chosen is None else Learnt(*chosen)
        if found != self._learnt:
            self._learnt, self._known = found, unpacked(found.state)
            weights = ranking_weights(self._known)
            self.model = self._model if weights is None else self._model.ranking_with(weights)

    def of(self, snapshot: Snapshot) -> NDArray[np.float64]:
        """The log rate of each listed article; one that no window has had yet has that of its text."""
        rates = rates_on(self._model, snapshot, self._known, _NO_NOISE)
        return rates.log_rate(np.arange(len(snapshot)))


def learnt_from(model: PublicModel, snapshot: Snapshot, state: bytes, used: UsedSum) -> bytes:
    """What is known after one more sum, of popularity or of weights."""
    known = unpacked(state)
    if learns_weights(used.task):
        clicks = rates_on(model, snapshot, known, _NO_NOISE).slate_clicks
        prior = model.weight_prior(with_head=learns_head(used.task) or knows_head(known))
        return packed(known | weights_after(prior, known, clicks, used))
    return packed(known | _popularity_after(model, snapshot, known, used))


def _popularity_after(model: PublicModel, snapshot: Snapshot, known: Arrays, used: UsedSum) -> Arrays:
    closed, released, contributions = used.closed, used.found.values, max(1, used.found.contributions or 0)
    rates = rates_on(model, snapshot, known, CountLikelihood.of(used.task))
    slates = closed.slates_of_each(contributions)
    place = {article: row for row, article in enumerate(snapshot.ids)}
    listed = np.array([article in place for article in closed.cells], np.bool_)
    if listed.any() or closed.shown:
        rows = np.array([place[article] for article in closed.cells if article in place], np.int64)
        counts = released[: len(closed.cells)][listed]
        shown = None if closed.shown is None else _on_rows(closed.shown, place)
        rates.update(Window(closed.end, rows, slates[listed], counts, exposure_known=closed.logged, shown=shown))
    return by_names(rates, snapshot) | slates_after(known, closed, float(slates.sum()))


def _on_rows(shown: Mapping[str, float], place: Mapping[str, int]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Of what is listed the rows, in their order, and the exposure."""
    here = sorted((place[article], exposure) for article, exposure in shown.items() if article in place)
    return np.array([row for row, _ in here], np.int64), np.array([exposure for _, exposure in here])


def rates_on(model: PublicModel, snapshot: Snapshot, found: Arrays, likelihood: CountLikelihood) -> ClickRates:
    """What is known, on the rows of a catalogue."""
    rates = ClickRates(likelihood, article_text(model, snapshot))
    if "articles" in found:
        place = {article: row for row, article in enumerate(snapshot.ids)}
        names = found["articles"].tolist()
        listed = np.array([name in place for name in names], np.bool_)
        slope = dict(zip(found["categories"].tolist(), found["slope"][len(model.space) :].tolist(), strict=True))
        of_categories = [slope.get(category, 0.0) for category in snapshot.categories]
        rates.restore(
            {
                **{name: found[name] for name in _WHOLE},
                **{name: found[name][listed] for name in _BY_ARTICLE},
                **_exposure_of(found, listed),
                "article": np.array([place[name] for name in names if name in place], np.int64),
                "slope": np.concatenate((found["slope"][: len(model.space)], of_categories)),
            }
        )
    return rates


def _exposure_of(found: Arrays, listed: NDArray[np.bool_]) -> Arrays:
    """What is known of exposure; what was taken down still tells of the site. Before 0.7 it was not known like this."""
    if "exposed_moments" not in found:
        return {}
    before = found["exposed_before"] + summed_up(found["exposed"][~listed])
    whole = {name: found[name] for name in EXPOSURE_STATE}
    return {**whole, "exposed": found["exposed"][listed], "exposed_before": before}


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


def by_names(rates: ClickRates, snapshot: Snapshot) -> Arrays:
    """What is known of popularity, by article ids and category names."""
    state = rates.state()
    kept = {name: state[name] for name in (*_WHOLE, *_BY_ARTICLE, *EXPOSURE_STATE, "slope")}
    kept["articles"] = np.array([snapshot.ids[row] for row in state["article"].tolist()], np.str_)
    kept["categories"] = np.array(list(snapshot.categories), np.str_)
    return kept
