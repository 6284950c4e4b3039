"""One vendor's recommender in the manner of `implicit` and Surprise: fit, predict, recommend, similar_items, by name.

model = discreet.Gibbs().fit(discreet.open_ratings("ratings.csv"))
model.predict("alice", "item-7"); model.recommend("alice", 10); model.similar_items("item-7", 5)
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError, InputError
from discreet.files import replacing_file
from discreet.vendors.gibbs import FittedGibbs, GibbsMF
from discreet.vendors.item_features import local_prior

_FORMAT = 1
_ARRAYS = ("users", "items", "weights", "features", "item_place", "rated_start", "rated")


class Scored(NamedTuple):
    """An item, what it is called, and its expected rating (or, among similar ones, how near it is)."""

    item: str
    title: str
    score: float


@dataclass(frozen=True)
class Gibbs:
    """Bayesian matrix factorization with what is public about items (genres, years) and how often they are rated.

    Attributes:
        rank: How many factors; by default by the number of ratings.
        iterations: How many iterations of the sampler, a fifth thrown away.
        features: Whether genres, years and popularity are used.
        seed: The same gives the same model.
    """

    rank: int | None = None
    iterations: int | None = None
    features: bool = True
    seed: int = 0

    def fit(self, ratings: Ratings) -> Recommender:
        """Sample the posterior."""
        if not isinstance(ratings, Ratings):
            raise DiscreetError(
                f"fit needs ratings, not a {type(ratings).__name__}: discreet.open_ratings(…) makes them"
            )
        model = GibbsMF.for_size(len(ratings), self.rank, self.iterations)
        prior = local_prior(ratings) if self.features else None
        return Recommender.of(model.fit(ratings, prior=prior, seed=self.seed), ratings)


@dataclass(frozen=True, eq=False)
class Recommender:
    """A fitted model that knows users and items by their names."""

    model: FittedGibbs
    users: Sequence[str]
    items: Sequence[str]
    titles: Sequence[str]

    @classmethod
    def of(cls, model: FittedGibbs, ratings: Ratings) -> Recommender:
        """A model of these ratings."""
        return cls(model, list(ratings.users), list(ratings.items.ids), list(ratings.items.titles))

    def predict(self, user: Any, item: Any) -> Any:
        """The expected rating of a user and an item, or an array for lists of them."""
        if isinstance(user, str) or not isinstance(user, Iterable):
            return float(self.predict([user], [item])[0])
        rows = np.array([self._number(self._user_numbers, "user", name) for name in user], np.int32)
        columns = np.array([self._number(self._item_numbers, "item", name) for name in item], np.int32)
        return self.model.predict(rows, columns)

    def recommend(self, user: Any, k: int = 10, *, exclude_rated: bool = True) -> list[Scored]:
        """The `k` items of the highest expected rating, best first; without those that the user has rated."""
        number = self._number(self._user_numbers, "user", user)
        return self._scored(*self.model.recommend(number, k, exclude_rated))

    def similar_items(self, item: Any, k: int = 10) -> list[Scored]:
        """The `k` items that the same users like, nearest first, with the cosine."""
        return self._scored(*self.model.similar_items(self._number(self._item_numbers, "item", item), k))

    def write_recommendations(self, path: Path, k: int = 10) -> int:
        """Write `user,rank,item,title,expected_rating` for every user; return how many lines there are."""
        lines = 0
        with replacing_file(path) as draft, draft.open("w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(("user", "rank", "item", "title", "expected_rating"))
            for number, user in enumerate(self.users):
                for rank, found in enumerate(self._scored(*self.model.recommend(number, k)), 1):
                    out.writerow((user, rank, found.item, found.title, f"{found.score:.4f}"))
                    lines += 1
        return lines

    def save(self, path: Path | str) -> None:
        """Write the model to a file (safetensors)."""
        about = {
            "format": _FORMAT,
            "mean": self.model.mean,
            "scale": list(self.model.scale),
            "noise": self.model.noise,
            "users": list(self.users),
            "items": list(self.items),
            "titles": list(self.titles),
        }
        tensors = {name: np.ascontiguousarray(getattr(self.model, name)) for name in _ARRAYS}
        with replacing_file(Path(path)) as draft:
            save_file(tensors, draft, {"recommender": json.dumps(about)})

    @classmethod
    def load(cls, path: Path | str) -> Recommender:
        """The inverse of `save`.

        Raises:
            InputError: the file is not there, or not as `save` writes it.
        """
        path = Path(path)
        if not path.exists():
            raise InputError(path, "does not exist")
        try:
            with safe_open(path, framework="numpy") as file:
                about = json.loads(file.metadata()["recommender"])
                arrays = {name: file.get_tensor(name) for name in _ARRAYS}
            if about["format"] != _FORMAT:
                raise InputError(path, f"has format {about['format']}; this version reads {_FORMAT}")
            low, high = about["scale"]
            model = FittedGibbs(mean=about["mean"], scale=(low, high), noise=about["noise"], **arrays)
            return cls(model, about["users"], about["items"], about["titles"])
        except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(path, f"is not a recommender, or is damaged ({error})") from error

    @cached_property
    def _user_numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.users)}

    @cached_property
    def _item_numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.items)}

    @staticmethod
    def _number(numbers: dict[str, int], what: str, name: Any) -> int:
        found = numbers.get(str(name))
        if found is None:
            raise DiscreetError(f"the model knows no {what} '{name}'")
        return found

    def _scored(self, items: NDArray[np.int32], scores: NDArray[np.float64]) -> list[Scored]:
        pairs = zip(items.tolist(), scores.tolist(), strict=True)
        return [Scored(self.items[item], self.titles[item], score) for item, score in pairs]
