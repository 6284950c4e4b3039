"""MIND's submission file, read as the official scorer reads it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from discreet.cli import run
from discreet.data.formats.mind_submission import write_submission
from discreet.data.open import open_news
from discreet.data.synthetic import news_world, write_mind
from discreet.evaluation.metrics import ranking_metrics


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world whose dev log is shuffled, as MIND's are."""
    folder = tmp_path_factory.mktemp("submission") / "world"
    write_mind(news_world(150, seed=4), folder)
    log = folder / "dev" / "behaviors.tsv"
    lines = log.read_text().splitlines(keepends=True)
    np.random.default_rng(0).shuffle(lines)
    log.write_text("".join(lines))
    return folder


def scored(truth: Path, prediction: str) -> float:
    """The mean AUC by the steps of MIND's scorer: ids must agree line by line, a score is 1 over the rank."""
    found = []
    for true, line in zip(truth.read_text().splitlines(), prediction.splitlines(), strict=True):
        number, _, _, _, slate = true.split("\t")
        ident, ranks = line.split()
        assert ident == number
        labels = np.array([int(token[-1]) for token in slate.split(" ")])
        values = 1 / np.array(json.loads(ranks))
        assert sorted(json.loads(ranks)) == list(range(1, len(labels) + 1))
        if 0 < labels.sum() < len(labels):
            won = values[labels == 1][:, None] > values[labels == 0]
            found.append(won.mean())
    return float(np.mean(found))


def test_the_scorer_finds_the_same_auc(world: Path, tmp_path: Path) -> None:
    dev = open_news(world).splits["dev"]
    scores = np.random.default_rng(1).normal(size=len(dev.shown)) + dev.clicked
    out = tmp_path / "prediction.txt"
    write_submission(scores, dev, world, "dev", out)
    ours = float(ranking_metrics(scores, dev)["auc"].mean())
    assert scored(world / "dev" / "behaviors.tsv", out.read_text()) == pytest.approx(ours)


def test_the_command_writes_a_zip(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    trained, out = tmp_path / "run", tmp_path / "prediction.zip"
    assert run(["train", str(world), "--method", "content", "--text", "hashed", "--out", str(trained)]) == 0
    assert run(["submit", str(trained), str(world), "--split", "dev", "--out", str(out)]) == 0
    with zipfile.ZipFile(out) as packed:
        assert packed.namelist() == ["prediction.txt"]
        assert scored(world / "dev" / "behaviors.tsv", packed.read("prediction.txt").decode()) > 0.5
    for arguments, line in (
        (["submit", str(trained), str(world), "--out", str(out)], "has no split 'test'"),
        (["submit", str(trained), str(world), "--out", str(tmp_path / "p.csv")], "must end with .zip or .txt"),
        (["submit", str(trained), str(world), "--split", "dev", "--device", "cuda"], "torch finds no GPU here"),
    ):
        assert run(arguments) == 2
        assert line in capsys.readouterr().err
