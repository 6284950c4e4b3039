"""A vendor that reads releases from a file: it takes off what it gave itself, and goes on with its own model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.data.ratings import Ratings
from discreet.edge.vendor.contribution_record import ContributionRecord, RecordedContribution
from discreet.edge.vendor.sharing_node import BOOK
from discreet.errors import InputError
from discreet.vendors.gibbs import FittedGibbs, GibbsMF
from discreet.vendors.methods.baselines import Local
from discreet.vendors.partition import Fold, folds
from discreet.vendors.sharing.contributions import UNIT, Floats
from discreet.vendors.sharing.reading import prior_of_others
from discreet.vendors.sharing.releases import Releases, load_complete
from discreet.vendors.sharing.sharing_rounds import Round
from discreet.vendors.vendor_method import Predictor


@dataclass(frozen=True, eq=False)
class ReleaseReader:
    """One vendor's view of the releases.

    Attributes:
        releases: What all may read.
        given: What the vendor itself gave to each round. It is taken off as it was given, so the vendor's ratings may
            have changed since.
    """

    releases: Releases
    given: tuple[RecordedContribution, ...]

    def predictor(self, own: Ratings, model: GibbsMF, seed: int) -> FittedGibbs:
        """The vendor's own model, with what the others' statistics say as its prior."""
        prior = prior_of_others(*self.others(), own, self.releases.job.budget, model.rank)
        return model.fit(own, prior=prior, seed=seed)

    def others(self) -> tuple[list[Round], list[Floats]]:
        """The rounds, and what the others alone have said in each, with their noise, in units."""
        answers = self.releases.answers()
        rest = [np.asarray((a.total - g.values) / UNIT) for a, g in zip(answers, self.given, strict=True)]
        return [a.round for a in answers], rest


@dataclass(frozen=True)
class Gain:
    """RMSE on so many of the vendor's own ratings, which its model was not trained on."""

    alone: float
    together: float
    tested: int


def open_reader(path: Path, folder: Path) -> ReleaseReader:
    """The releases at `path` for the vendor whose node has kept in `folder` what it gave.

    Raises:
        InputError: the vendor has not given to these.
    """
    releases = load_complete(path)
    given = ContributionRecord(folder / BOOK).given(releases.job)
    if [one.task for one in given] != [one.task for one in releases.asked]:
        raise InputError(folder, f"its vendor took no part in the releases of {path}, so it cannot take off its own")
    return ReleaseReader(releases, tuple(given))


def gain(reader: ReleaseReader, own: Ratings, model: GibbsMF, seed: int) -> Gain:
    """What the releases bring to a vendor, on a random tenth of its ratings.

    Of the tested ratings the others' sums know nothing; the questions were chosen from totals in which they are, under
    the noise of all.
    """
    fold = folds(own, seed=seed)[0]
    alone = Local(model).predictor(None, 0, fold.train, seed)
    together = reader.predictor(fold.train, model, seed)
    return Gain(_rmse(alone, fold), _rmse(together, fold), len(fold.test))


def _rmse(predictor: Predictor, fold: Fold) -> float:
    errors = predictor.predict(fold.test.user, fold.test.item) - fold.test.value
    return float(np.sqrt(np.mean(np.square(errors))))
