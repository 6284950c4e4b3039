"""What the demo leaves on the disk."""

from discreet.cli.demo import _train
from discreet.data.synthetic import news_world
from discreet.files import MARK, verify_folder
from discreet.methods.method import TrainingTask


def test_the_demos_run_has_a_digest_of_what_was_measured_of_it(tmp_path):
    task = TrainingTask(news_world(60, seed=1), "hashed")
    _train(task, tmp_path / "run", seed=0)
    assert "rankings.json" in (tmp_path / "run" / MARK).read_text()
    verify_folder(tmp_path / "run")
