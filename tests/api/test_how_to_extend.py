"""The pages on adding a method and a model: their programs run as they stand there."""

import re
from pathlib import Path

import numpy as np
import pytest

from discreet.data.synthetic import news_world
from discreet.edge.node.in_process import on_one_machine
from discreet.methods.method import TrainingTask
from discreet.methods.method_registry import METHODS
from discreet.methods.run import Run
from discreet.models.model_registry import MODELS

PAGES = Path(__file__).parents[2] / "docs" / "how-to"


@pytest.fixture
def run_page(monkeypatch):
    """Run all Python of a page, in one namespace, on a small world."""
    world = news_world(40, seed=3)
    monkeypatch.setattr("discreet.open_news", lambda _: world)

    def run(page):
        names = {"__name__": page}
        code = "\n".join(re.findall(r"```python\n(.*?)```", (PAGES / page).read_text(encoding="utf-8"), re.DOTALL))
        exec(code, names)
        return names

    return run


@pytest.mark.long
def test_add_a_model(run_page, tmp_path):
    try:
        run = run_page("add-a-model.md")["run"]
        assert run.method.chosen_model.stretch == 3.0
        run.save(tmp_path / "run")
        again = Run.load(tmp_path / "run")
        dev = run.task.data.splits["dev"]
        assert np.array_equal(again.score(dev, run.task.data), run.score(dev))
    finally:
        MODELS.forget("mean")


@pytest.mark.long
def test_add_a_method(run_page):
    try:
        names = run_page("add-a-method.md")
        assert {result.method for result in names["run"].results} == {"clipped_rec", "content"}
        task, method = TrainingTask(news_world(40, seed=3), "hashed"), names["ClippedRec"](rounds=2, fraction=0.5)
        assert len(method.train(task, 1, None, on_one_machine(task, 2))["losses"]) == 2
    finally:
        METHODS.forget("clipped_rec")
