"""What a method is: it trains on a task's train split, and scores impressions with what it has learnt.

What a method learns is a `State`, a plain dictionary of arrays, so that every run is saved and loaded the same way.
Settings of a method are the fields of its frozen dataclass; `method_registry` lists them all.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Impressions, NewsData
from discreet.errors import InputError
from discreet.privacy.guarantee import Guarantee
from discreet.text.encode import TextVectors, encode_texts, identity
from discreet.text.word_vectors import unit_rows

if TYPE_CHECKING:
    from discreet.methods.run import Run

State = dict[str, NDArray[Any]]
Scores = NDArray[np.float64]
Found = TypeVar("Found")


@dataclass(frozen=True)
class TrainingTask:
    """What every method is given: the data, and public vectors of the articles' titles.

    Attributes:
        data: Articles and impressions.
        text: The source of the vectors, as `encode_texts` takes it. They are made when first asked for.
        found: What methods found in public text, so that the next training need not look again.
        centre: What vectors are centred on, where somebody else has decided it.
        public_text: Whether `text_vectors` are made from public text alone, as `public_vectors` are. Server and nodes
            do so: otherwise their vectors would depend on what each of them knows of readers.
    """

    data: NewsData
    text: str = "auto"
    found: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    centre: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)
    public_text: bool = False

    def __post_init__(self) -> None:
        if self.text not in ("auto", "hashed") and not Path(self.text).exists():
            raise InputError(self.text, "is no source of title vectors; name auto, hashed, or an existing path")

    def once(self, key: Any, find: Callable[[], Found]) -> Found:
        """What `find` finds, looked for at the first time only."""
        if key not in self.found:
            self.found[key] = find()
        found: Found = self.found[key]
        return found

    @cached_property
    def text_identity(self) -> str:
        """What really makes the vectors, with its version; `auto` is another thing on another machine."""
        return identity(self.text)

    @property
    def text_vectors(self) -> TextVectors:
        """A unit vector for each title that is ever shown or clicked; zero for the others and for the untitled.

        Vectors are centred on the mean title of the train split: what all titles share says nothing of anybody's taste.
        The titles that occur there, histories included, decide that mean; this is outside any ε.
        """
        return self._text[0]

    @property
    def text_centre(self) -> NDArray[np.float32]:
        """What `text_vectors` are centred on."""
        return self._text[1]

    @cached_property
    def _text(self) -> tuple[TextVectors, NDArray[np.float32]]:
        if self.public_text:
            return self._public
        used, known = (self._occurring(splits) for splits in (self.data.splits, ["train"]))
        return self._centred(np.flatnonzero(used), known, self.centre)

    @cached_property
    def public_vectors(self) -> TextVectors:
        """A unit vector for each title of the catalogue, from public text alone; zero for the untitled."""
        return self._public[0]

    @property
    def public_centre(self) -> NDArray[np.float32]:
        """What `public_vectors` are centred on: the mean title that was shown in the train split, clicked or not."""
        return self._public[1]

    @cached_property
    def _public(self) -> tuple[TextVectors, NDArray[np.float32]]:
        shown = np.zeros(len(self.data.articles), np.bool_)
        shown[self.data.splits["train"].public_shown] = True
        return self._centred(np.arange(len(shown)), shown, self.centre)

    def _centred(
        self, rows: NDArray[np.int64], known: NDArray[np.bool_], centre: NDArray[np.float32] | None = None
    ) -> tuple[TextVectors, NDArray[np.float32]]:
        """The vectors of some articles, centred on `centre` or else on the mean of the `known`; and that centre."""
        encoded = encode_texts([self.data.articles.titles[row] for row in rows.tolist()], self.text)
        titled = encoded.matrix.any(axis=1)
        if centre is None:
            central = encoded.matrix[titled & known[rows]]
            centre = central.mean(axis=0) if len(central) else np.zeros(encoded.matrix.shape[1], np.float32)
        matrix = np.zeros((len(known), encoded.matrix.shape[1]), np.float32)
        matrix[rows[titled]] = unit_rows(encoded.matrix[titled] - centre)
        return TextVectors(matrix, encoded.source), centre

    def _occurring(self, splits: Iterable[str]) -> NDArray[np.bool_]:
        """Which articles are shown or clicked in the named splits."""
        found = np.zeros(len(self.data.articles), np.bool_)
        for part in (self.data.splits[split] for split in splits):
            found[part.shown] = found[part.timeline] = True
        return found


class Method(ABC):
    """A way to rank.

    A method of one's own is a frozen dataclass that inherits from this class, has a `name`, and scores; it may train,
    and then says with `guarantee` what that costs. `discreet.register` makes it known to the command line.
    """

    name: ClassVar[str]
    """The name that the command line uses."""

    @property
    def model(self) -> str | None:
        """The model that is trained, or None where there is none."""
        return None

    @property
    def epsilon(self) -> float | None:
        """The privacy budget asked for (infinity: no noise), or None where the method knows no ε."""
        return None

    def train(self, task: TrainingTask, seed: int, checkpoint: Path | None = None) -> State:
        """Learn from the task's train split, and from nothing later.

        What takes long saves itself to the file `checkpoint` now and then, and goes on from there if it exists.
        """
        return {}

    @abstractmethod
    def score(self, task: TrainingTask, state: State, impressions: Impressions, seed: int) -> Scores:
        """A score for each shown article of `impressions` (flat, as in `impressions.shown`); higher ranks first.

        Only what was known at an impression's time may count.
        """

    def guarantee(self, state: State) -> Guarantee | None:
        """What training this way costs a reader in privacy; None where clicks are simply collected."""
        return None

    def fit(self, data: NewsData, seed: int = 0, *, text: str = "auto") -> Run:
        """Train on the train split of `data`; `text` names the source of title vectors."""
        from discreet.methods.run import Run

        task = TrainingTask(data, text)
        return Run(self, self.train(task, seed), data.name, seed, text, task)


def with_serving(method: Method, training: Guarantee | None) -> Guarantee | None:
    """What the server learns over a lifetime: the guarantee of training, if the device ranks by itself.

    If it sends a release for every new history instead, nothing caps their number, and no finite ε holds.
    """
    if training is None or getattr(method, "epsilon_serving", None) is None:
        return training
    return replace(training, epsilon=math.inf, delta=0.0, mechanism=f"{training.mechanism}; serving without a cap")
