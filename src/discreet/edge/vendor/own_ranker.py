"""A vendor of purchases that reads releases: it takes off what it gave itself, and goes on with its own users' rows."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.data.ratings import Ratings
from discreet.edge.vendor.own_model import ReleaseReader
from discreet.errors import DiscreetError
from discreet.evaluation.recommendation import recommendation_metrics
from discreet.vendors.implicit.holdout import leave_last_out
from discreet.vendors.implicit.item_ranker import ItemRanker
from discreet.vendors.implicit.sharing.purchase_reading import gram_from
from discreet.vendors.implicit.sharing.ranking_sharing import RankingSharing
from discreet.vendors.implicit.tuning import ALL_MODELS, TOP, best_model


@dataclass(frozen=True)
class RankingGain:
    """nDCG@20 over so many of the vendor's own users, whose last items its model was not trained on."""

    alone: float
    together: float
    tested: int


def own_ranker(reader: ReleaseReader, own: Ratings, seed: int) -> ItemRanker:
    """The best on own purchases: with what the others' users buy together, at some weight, or without it.

    Raises:
        DiscreetError: the vendor has no purchases on the catalogue, so there is nobody to recommend to.
    """
    if not len(own):
        raise DiscreetError(
            f"{own.name}: has no purchases of items of the catalogue, so there is nothing to learn from"
        )
    job = reader.releases.job
    method = RankingSharing(job.epsilon, job.delta, job.colluders)
    return method.ranker(gram_from(*reader.others(), own, job.budget), own, seed)


def ranking_gain(reader: ReleaseReader, own: Ratings, seed: int) -> RankingGain | None:
    """What the releases bring to a vendor, on the last fifth of each user's items; None if no user has two.

    Of the tested purchases the others' sums know nothing; the questions were chosen from totals in which they are,
    under the noise of all.
    """
    fold = leave_last_out(own, seed=seed)
    if not len(fold.test):
        return None
    alone = best_model(ALL_MODELS, fold.train, seed=seed).fit(fold.train)
    together = own_ranker(reader, fold.train, seed)
    found = [recommendation_metrics(model, fold.train, fold.test, TOP) for model in (alone, together)]
    tested = len(found[0].by_user[f"ndcg@{TOP}"])
    return RankingGain(found[0][f"ndcg@{TOP}"], found[1][f"ndcg@{TOP}"], tested)
