"""What a device makes of its own history: five numbers for each candidate. Nothing of it leaves the device."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.blas_threads import one_blas_thread
from discreet.data.news import Impressions
from discreet.methods.baselines import Recency
from discreet.methods.front_page.public_articles import PublicArticles
from discreet.methods.front_page.subcategories import Subcategories
from discreet.methods.method import TrainingTask
from discreet.progress import track

Floats = NDArray[np.float64]

FEATURES = ("mean", "nearest", "category", "recency", "subcategory")
"""Similarity to the mean of the history and to its nearest article, affinities to category and subcategory, recency."""

_PRIOR_CLICKS = 5.0


def reader_features(public: PublicArticles, history: NDArray[np.int32], candidates: NDArray[np.int32]) -> Floats:
    """The first three features, a row for each candidate; zeros where there is no history.

    Affinity is the log of the category's share in the history over its share in all that is shown, with five clicks'
    worth of the latter as a prior.
    """
    found = np.zeros((len(candidates), 3))
    if not len(history):
        return found
    read = public.vectors[history]
    mean = read.sum(axis=0)
    similar = public.vectors[candidates] @ np.column_stack((mean / max(float(np.linalg.norm(mean)), 1e-12), read.T))
    found[:, 0] = similar[:, 0] / public.unit
    found[:, 1] = similar[:, 1:].max(axis=1) / public.unit
    clicks = np.bincount(public.category[history], minlength=len(public.share))
    taste = (clicks + _PRIOR_CLICKS * public.share) / (len(history) + _PRIOR_CLICKS) / public.share
    found[:, 2] = np.log(taste)[public.category[candidates]]
    return found


def device_features(task: TrainingTask, public: PublicArticles, impressions: Impressions) -> Floats:
    """All features of all shown articles, each from its reader's own history and from public times."""
    found = np.zeros((len(impressions.shown), len(FEATURES)))
    subcategories = Subcategories.of(task)
    with one_blas_thread():
        for i in track(range(len(impressions)), "Ranking on devices"):
            slate, history = slice(impressions.slate[i], impressions.slate[i + 1]), impressions.history(i)
            candidates = impressions.shown[slate]
            found[slate, :3] = reader_features(public, history, candidates)
            found[slate, 4] = subcategories.affinity(history, candidates)
    found[:, 3] = Recency().score(task, {}, impressions, 0)
    return found
