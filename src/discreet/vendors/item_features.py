"""What is known about items: in public from their genres and years, and at one vendor from how often they are rated."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Items, Ratings
from discreet.vendors.gibbs.prior import ItemPrior

_KNOTS = 5
"""Knots of the splines in the year, at quantiles of the years."""
_MIN_OF_GENRE = 5
"""A genre of fewer items has no feature of its own."""
GROUP_EDGES = (1, 5, 20, 100)
"""The groups of items by the vendor's number of ratings: none, 1 to 4, 5 to 19, 20 to 99, 100 and more."""

_features: WeakKeyDictionary[Items, NDArray[np.float64]] = WeakKeyDictionary()


def public_features(items: Items) -> NDArray[np.float64]:
    """Genres (each 0 or 1), their number, and a natural cubic spline in the year; standardised. Unknown years are 0.

    They are computed once for a catalogue, which all vendors share.
    """
    if items not in _features:
        _features[items] = _made_features(items)
        _features[items].flags.writeable = False
    return _features[items]


def _made_features(items: Items) -> NDArray[np.float64]:
    genres = sorted({genre for of_item in set(items.genres) for genre in of_item})
    sets = {of_item: number for number, of_item in enumerate(dict.fromkeys(items.genres))}
    flags = np.array([[genre in of_item for genre in genres] for of_item in sets], np.float64)
    member = flags.reshape(len(sets), len(genres))[[sets[of_item] for of_item in items.genres]]
    member = member[:, member.sum(axis=0) >= _MIN_OF_GENRE]
    return standardised(np.column_stack((member, member.sum(axis=1), _year_spline(items.years))))


def standardised(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns of mean 0 and deviation 1; constant columns are left out."""
    deviation = features.std(axis=0)
    varying = deviation > 1e-9
    return np.asarray((features[:, varying] - features.mean(axis=0)[varying]) / deviation[varying])


def rating_counts(ratings: Ratings) -> NDArray[np.int64]:
    """How often each item is rated."""
    return np.bincount(ratings.item, minlength=len(ratings.items))


def popularity_feature(ratings: Ratings) -> NDArray[np.float64]:
    """log(1 + number of ratings), standardised, as a column. It is the vendor's own, not public."""
    return standardised(np.log1p(rating_counts(ratings))[:, None])


def popularity_groups(ratings: Ratings) -> NDArray[np.int32]:
    """Groups of items that are rated about equally often; no number is left out."""
    group = np.digitize(rating_counts(ratings), GROUP_EDGES)
    return np.unique(group, return_inverse=True)[1].astype(np.int32)


def local_prior(ratings: Ratings) -> ItemPrior:
    """All that a vendor knows about the items without the others: public features, and its own counts of ratings."""
    features = np.column_stack((public_features(ratings.items), popularity_feature(ratings)))
    return ItemPrior(features, popularity_groups(ratings))


def _year_spline(years: NDArray[np.int32]) -> NDArray[np.float64]:
    """The basis of a natural cubic spline, linear beyond the outer knots (Hastie et al., 2009, eq. 5.4 and 5.5)."""
    known = years >= 0
    columns = np.zeros((len(years), _KNOTS - 1))
    if not known.any():
        return columns[:, :0]
    knots = np.unique(np.quantile(years[known], np.linspace(0.05, 0.95, _KNOTS)))
    if len(knots) < 3:
        return np.where(known, years, years[known].mean())[:, None].astype(np.float64)
    x = (years[known] - knots[0]) / (knots[-1] - knots[0])
    places = (knots - knots[0]) / (knots[-1] - knots[0])

    def bend(knot: float) -> NDArray[np.float64]:
        beyond: NDArray[np.float64] = (np.maximum(x - knot, 0) ** 3 - np.maximum(x - 1, 0) ** 3) / (1 - knot)
        return beyond

    basis = [x, *(bend(knot) - bend(places[-2]) for knot in places[:-2])]
    columns = np.zeros((len(years), len(basis)))
    columns[known] = np.column_stack([column - column.mean() for column in basis])
    return columns
