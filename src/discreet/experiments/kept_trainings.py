"""What was learnt, kept for other tables that rank with it; an interrupted training goes on where it stopped."""

from __future__ import annotations

from dataclasses import dataclass, field

from discreet.experiments.cache import MeasurementCache
from discreet.experiments.provenance import own_code
from discreet.methods.method import Method, State, TrainingTask
from discreet.methods.settings import settings_of


@dataclass(frozen=True)
class KeptTrainings:
    """Trainings in the folder of a cache, found again by all that they depend on, as measurements are.

    A training writes its checkpoints there. What was learnt stays there only if `states` are kept: they are as large as
    the models.
    """

    cache: MeasurementCache = field(default_factory=MeasurementCache)
    states: bool = False

    def train(self, method: Method, task: TrainingTask, seed: int) -> State:
        """What `method` learns, now or in an earlier command."""
        if method.model is None or self.cache.folder is None:
            return method.train(task, seed)
        name = f"training-{method.name}"
        code = own_code(*classes_of(method))
        key = [task.data.fingerprint, task.text_identity, code, settings_of(method), seed]
        if self.states and (found := self.cache.get(name, key)):
            return found.arrays
        checkpoint = self.cache.path(name, key).with_suffix(".checkpoint")
        if self.cache.fresh:
            checkpoint.unlink(missing_ok=True)
        state = method.train(task, seed, checkpoint)
        if self.states:
            self.cache.put(name, key, state)
        checkpoint.unlink(missing_ok=True)
        return state


def classes_of(method: Method) -> list[type]:
    """The classes that a measurement is of: the method's, and its model's where it has one."""
    if method.model is None:
        return [type(method)]
    from discreet.models.model_registry import MODELS  # torch, which other methods do not wait for

    return [type(method), MODELS[method.model]]
