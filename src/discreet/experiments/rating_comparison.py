"""Ways to collaborate side by side: the same ratings, dealt out to the same vendors, tested on the same part of each.

Each vendor's measurement is stored as soon as it is done, so that an interrupted comparison goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import product
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.errors import DiscreetError
from discreet.experiments.cache import MeasurementCache
from discreet.experiments.expected_time import ExpectedSeconds, expected_seconds
from discreet.experiments.provenance import own_code
from discreet.experiments.rating_results import BUCKETS, VendorComparison, VendorResult
from discreet.progress import in_short, is_shown, notice, status, track
from discreet.vendors.dealing import Dealing
from discreet.vendors.gibbs import GibbsMF
from discreet.vendors.item_features import GROUP_EDGES, rating_counts
from discreet.vendors.partition import RANDOM, Distribution, Fold, Sizes, folds, partition
from discreet.vendors.vendor_method import Predictor, VendorMethod
from discreet.vendors.vendor_registry import MethodRefusal

Floats = NDArray[np.float64]


class Split(Protocol):
    """Makes the folds of one vendor."""

    def __call__(self, ratings: Ratings, *, seed: int) -> list[Fold]:
        """Train and test parts."""
        ...


@dataclass(frozen=True)
class Design:
    """How ratings become vendors, and which vendors are measured.

    Attributes:
        vendors: How many there are.
        partitions: How many times users are dealt out, with seeds from `seed` on.
        folds: 1 tests a random tenth of each vendor's ratings, more test each of so many parts in turn.
        sizes: Of the vendors.
        dealing: How vendors differ.
        distribution: What is dealt out.
        reported: How many vendors are measured, the first ones, fixed before anything is known of them; None for all.
        seed: Of the deal, the tested part, the noise and the models.
    """

    vendors: int
    partitions: int = 1
    folds: int = 1
    sizes: Sizes = Sizes.EQUAL
    distribution: Distribution = Distribution.HORIZONTAL
    dealing: Dealing = RANDOM
    reported: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.vendors < 2:
            raise DiscreetError(f"give at least 2 vendors, not {self.vendors}; one alone has nobody to share with")
        if self.partitions < 1 or self.folds < 1:
            raise DiscreetError("a comparison needs at least 1 partition and 1 fold")
        if self.reported is not None and not 1 <= self.reported <= self.vendors:
            raise DiscreetError(f"of {self.vendors} vendors 1 to {self.vendors} can be reported, not {self.reported}")

    @property
    def measured(self) -> int:
        """How many vendors are measured."""
        return self.reported or self.vendors

    def in_words(self) -> str:
        """What a reader of the results must know."""
        return f"{self.dealt_in_words()}, {self.tested()}"

    def tested(self) -> str:
        """Which part is tested."""
        return "a random tenth of each vendor's ratings tested" if self.folds == 1 else f"{self.folds} folds"

    def dealt_in_words(self) -> str:
        """How vendors came about, without what is tested."""
        first = "" if self.measured == self.vendors else f", the first {self.measured} measured"
        times = "1 partition" if self.partitions == 1 else f"{self.partitions} partitions"
        how = f"{self.distribution}, sizes {self.sizes}" if self.dealing == RANDOM else self.dealing.in_words()
        return f"{self.vendors} vendors ({how}{first}), {times}"


def compare(
    ratings: Ratings,
    design: Design,
    methods: Sequence[VendorMethod],
    cache: MeasurementCache,
    refused: Sequence[MethodRefusal] = (),
    own: Sequence[Ratings] | None = None,
    model: GibbsMF | None = None,
) -> VendorComparison:
    """Measure every method at every vendor that is to be measured; the first method is `local`.

    Args:
        ratings: All of them.
        design: How they are dealt out, and what is measured.
        methods: Ways to predict.
        cache: Where measurements are kept.
        refused: Methods that cannot take part, for the report.
        own: Each vendor's own ratings, where they are not dealt out.
        model: The vendors' own model, where it is not a method's and not by size.

    Raises:
        DiscreetError: the ratings cannot be dealt out so, or models differ, before anything is stored.
    """
    methods, model = with_one_model(methods, model, len(ratings))
    split = partial(folds, count=design.folds)
    found, reused = at_vendors(ratings, design, methods, cache, split, errors, (2, len(BUCKETS)), "errors", own)
    results = [
        VendorResult(
            method.name,
            method.epsilon,
            table[..., 0, :],
            table[..., 1, :],
            method.guarantee(design.vendors),
            settings=repr(method),
            reused=int(again),
        )
        for method, table, again in zip(methods, found, reused, strict=True)
    ]
    settings = asdict(design) | {"dealing": "own files" if own is not None else str(design.dealing)}
    settings |= {} if model is None else {"rank": model.rank, "iterations": model.iterations}
    names = [part.name for part in own] if own is not None else [f"vendor {n + 1}" for n in range(design.vendors)]
    words = design.in_words() if own is None else f"{design.vendors} vendors' own files, {design.tested()}"
    words += "" if model is None else f"; every vendor's own model has {model.in_words()}"
    return VendorComparison(ratings.name, design.vendors, words, results, refused, settings, names[: design.measured])


def with_one_model(
    methods: Sequence[VendorMethod], model: GibbsMF | None, ratings: int
) -> tuple[list[VendorMethod], GibbsMF | None]:
    """Give all methods that use the vendors' own model the same one, so that their rows differ by the method alone.

    It is `model`, or the one that a method has, or one for so many ratings. None if no method uses any.

    Raises:
        DiscreetError: two methods have different ones.
    """
    using = [isinstance(getattr(method, "model", ""), GibbsMF | None) for method in methods]
    having = [(each.name, cast(Any, each).model) for each, uses in zip(methods, using, strict=True) if uses]
    given = [(name, each) for name, each in [("as asked for", model), *having] if each is not None]
    if len({each for _, each in given}) > 1:
        words = "; ".join(dict.fromkeys(f"{name}: {each.in_words()}" for name, each in given))
        raise DiscreetError(f"the vendors' own model must be the same in all rows of a comparison, but is: {words}")
    chosen = given[0][1] if given else GibbsMF.for_size(ratings)
    same = [replace(cast(Any, each), model=chosen) if uses else each for each, uses in zip(methods, using, strict=True)]
    return same, chosen if any(using) else None


def at_vendors(
    ratings: Ratings,
    design: Design,
    methods: Sequence[VendorMethod],
    cache: MeasurementCache,
    split: Split,
    measure: Callable[[Any, Fold], Floats],
    shape: tuple[int, ...],
    what: str,
    own: Sequence[Ratings] | None = None,
) -> tuple[Floats, NDArray[np.int64]]:
    """What is measured of every method, by partition, fold and vendor; and how many measurements are not new.

    Args:
        ratings: What is dealt out.
        design: How, and which vendors are measured.
        methods: The methods.
        cache: What was measured before.
        split: Makes the `design.folds` folds of one vendor.
        measure: Measures what a method's `predictor` gives on a fold.
        shape: Of what it gives.
        what: What it measures, which tells measurements apart that are kept.
        own: Each vendor's own ratings, where they are not dealt out.
    """
    deals = [_Deal(ratings, design, number, split, own) for number in range(design.partitions)]
    for deal in deals:
        _ = deal.parts
    data = fingerprint(ratings)
    found = np.zeros((len(methods), design.partitions, design.folds, design.measured, *shape))
    reused = np.zeros(len(methods), np.int64)
    missing: list[_Measurement] = []
    for deal, fold, number, vendor in product(deals, range(design.folds), range(len(methods)), range(design.measured)):
        method = methods[number]
        key = [data, own_code(type(method)), repr(method), *deal.key, fold, vendor, what]
        each = _Measurement(number, deal, fold, vendor, key)
        measured = _cached(cache, method.name, key, shape)
        if measured is None:
            missing.append(each)
        else:
            found[each.place] = measured
            reused[number] += 1
    _say_how_long(methods, missing)
    shared: _Lazily | None = None
    for each in track(missing, "Measuring vendors"):
        method, train = methods[each.method], each.deal.train(each.fold)
        if shared is None or (shared.method, shared.deal, shared.fold) != (method, each.deal, each.fold):
            shared = _Lazily(method, each.deal, each.fold)
        status(f"{method.name}, vendor {each.vendor + 1}")
        part = each.deal.parts[each.vendor][each.fold]
        measured = measure(method.predictor(shared.value, each.vendor, train[each.vendor], each.deal.seed), part)
        cache.put(method.name, each.key, {"measured": measured})
        found[each.place] = measured
    return found, reused


def _cached(cache: MeasurementCache, name: str, key: Sequence[Any], shape: tuple[int, ...]) -> Floats | None:
    """The measurement of an earlier command, or None."""
    found = cache.get(name, key)
    measured = None if found is None else found.arrays.get("measured")
    return measured if measured is not None and measured.shape == shape else None


def errors(predictor: Predictor, fold: Fold) -> Floats:
    """Squared errors summed, and how many they are, by how often the vendor trained on the item."""
    test = fold.test
    bucket = np.digitize(rating_counts(fold.train)[test.item], GROUP_EDGES)
    squared = np.square(predictor.predict(test.user, test.item) - test.value)
    return np.array([np.bincount(bucket, squared, len(BUCKETS)), np.bincount(bucket, minlength=len(BUCKETS))])


def fingerprint(ratings: Ratings) -> str:
    """A number for everything that a method can learn from."""
    digest = hashlib.blake2b(digest_size=16)
    for array in (ratings.user, ratings.item, ratings.value, ratings.time, ratings.items.years):
        digest.update(np.ascontiguousarray(array).tobytes())
    public = [type(ratings).__name__, list(ratings.items.ids), [list(of_item) for of_item in ratings.items.genres]]
    digest.update(json.dumps([*public, list(ratings.users), list(ratings.scale)]).encode())
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class _Deal:
    """One partition."""

    ratings: Ratings
    design: Design
    number: int
    split: Split
    own: Sequence[Ratings] | None

    @property
    def seed(self) -> int:
        return self.design.seed + self.number

    @property
    def key(self) -> list[Any]:
        design = self.design
        kind = "own" if self.own is not None else str(design.dealing)
        return [design.vendors, design.folds, str(design.sizes), str(design.distribution), kind, self.seed]

    @cached_property
    def parts(self) -> list[list[Fold]]:
        """The folds of each vendor."""
        design = self.design
        dealt = self.own or partition(
            self.ratings,
            design.vendors,
            distribution=design.distribution,
            sizes=design.sizes,
            dealing=design.dealing,
            seed=self.seed,
        )
        return [self.split(part, seed=self.seed) for part in dealt]

    def train(self, fold: int) -> list[Ratings]:
        """What all vendors train on."""
        return [part[fold].train for part in self.parts]


@dataclass(frozen=True, eq=False)
class _Measurement:
    """One method at one vendor, in one fold of one partition."""

    method: int
    deal: _Deal
    fold: int
    vendor: int
    key: list[Any]

    @property
    def place(self) -> tuple[int, int, int, int]:
        """Where it stands in the table of all."""
        return self.method, self.deal.number, self.fold, self.vendor


@dataclass(frozen=True, eq=False)
class _Lazily:
    """What vendors share, computed when it is first needed: not at all where everything is stored."""

    method: VendorMethod
    deal: _Deal
    fold: int

    @cached_property
    def value(self) -> Any:
        return self.method.share(self.deal.train(self.fold), self.deal.seed)


def _say_how_long(methods: Sequence[VendorMethod], missing: Sequence[_Measurement]) -> None:
    """Time short runs of the methods with the vendors' own models, and tell whoever is watching what to expect."""
    if not is_shown():
        return
    total, others = 0.0, []
    known: dict[tuple[str, GibbsMF], ExpectedSeconds] = {}
    for number, method in enumerate(methods):
        todo = [each for each in missing if each.method == number]
        model = getattr(method, "model", None)
        if todo and not isinstance(model, GibbsMF):
            others.append(method.name)
        elif todo and isinstance(model, GibbsMF):
            if (method.name, model) not in known:
                first = todo[0]
                known[method.name, model] = expected_seconds(method, model, first.deal.train(first.fold), first.vendor)
            seconds = known[method.name, model]
            shares = len({(each.deal.number, each.fold) for each in todo})
            total += shares * seconds.sharing + len(todo) * seconds.fitting
    if known:
        models = "; ".join(dict.fromkeys(model.in_words() for _, model in known))
        besides = f", and {', '.join(dict.fromkeys(others))} besides" if others else ""
        notice(f"{len(missing)} measurements: about {in_short(total)} for the vendors' own models ({models}){besides}")
