"""A training that is interrupted in its third round, and then resumed."""

from pathlib import Path

import pytest

from discreet.methods.method import Method, State, TrainingTask
from discreet.training.rounds import RoundResult, Server


def resumed(method: Method, task: TrainingTask, checkpoint: Path) -> State:
    """What the training ends with."""
    step = Server.step

    def until_two(self: Server, result: RoundResult) -> None:
        if self.state.round == 2:
            raise KeyboardInterrupt
        step(self, result)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Server, "step", until_two)
        with pytest.raises(KeyboardInterrupt):
            method.train(task, 1, checkpoint)
    return method.train(task, 1, checkpoint)
