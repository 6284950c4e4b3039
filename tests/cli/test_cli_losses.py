"""Commands and what a user has: nothing is lost, a full disk is one line, and it is found before the work."""

import subprocess

import pytest

from discreet.cli import run

TRAIN = ["--method", "combined", "--text", "hashed"]


def everything(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("losses") / "world"
    assert run(["data", "synth", str(folder), "--readers", "150", "--json"]) == 0
    return folder


@pytest.fixture
def world(made, tmp_path):
    """A world of one's own."""
    subprocess.run(["cp", "-r", str(made), str(tmp_path / "world")], check=True)
    return tmp_path / "world"


@pytest.fixture
def disk(tmp_path):
    """A file system of 4 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    try:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)], check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if mounted.returncode != 0:
        pytest.skip("only root may mount a small file system")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def told_in_one_line(capsys, *words):
    told = capsys.readouterr()
    lines = [line for line in told.err.splitlines() if not line.startswith("titles as vectors")]
    assert len(lines) == 1, told.err
    assert all(word in lines[0] for word in words), lines[0]
    assert told.out == ""


def test_synth_into_the_working_directory_loses_nothing(tmp_path, monkeypatch, capsys):
    (tmp_path / "thesis.txt").write_text("years of work")
    monkeypatch.chdir(tmp_path)
    assert run(["data", "synth", ".", "--overwrite", "--readers", "60"]) == 2
    told_in_one_line(capsys, "working directory")
    assert everything(tmp_path) == {"thesis.txt": b"years of work"}


def test_training_does_not_overwrite_its_own_data(world, capsys):
    before = everything(world)
    assert run(["train", str(world), "--out", str(world), "--overwrite", *TRAIN]) == 2
    told_in_one_line(capsys, "is read from there")
    assert everything(world) == before


def test_a_link_is_one_line(world, tmp_path, capsys):
    (tmp_path / "link").symlink_to(world)
    before = everything(world)
    assert run(["data", "synth", str(tmp_path / "link"), "--overwrite", "--readers", "60"]) == 2
    told_in_one_line(capsys, "symbolic link")
    assert everything(world) == before


def test_a_report_that_discreet_did_not_write_stays(world, tmp_path, capsys, monkeypatch):
    (tmp_path / "report.html").write_text("mine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "discreet.experiments.ranking_comparison.compare", lambda *_: pytest.fail("measured before it was refused")
    )
    assert run(["compare", str(world), "--methods", "random", "--out", "."]) == 2
    told_in_one_line(capsys, "report.html", "not written by Discreet")
    assert (tmp_path / "report.html").read_text() == "mine"


@pytest.mark.parametrize("state", ["full", "read-only"])
@pytest.mark.parametrize("command", ["train", "compare", "synth"])
def test_no_work_is_done_for_a_folder_that_cannot_be_written(world, disk, capsys, monkeypatch, command, state):
    (disk / "filling").write_bytes(bytes(4_150_000 if state == "full" else 10))
    if state == "read-only":
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    monkeypatch.setattr("discreet.data.open.open_with_train", lambda *_: pytest.fail("read the data"))
    monkeypatch.setattr("discreet.data.synthetic.news_world", lambda *_, **__: pytest.fail("made a world"))
    out = str(disk / "out")
    arguments = {
        "train": ["train", str(world), "--out", out, *TRAIN],
        "compare": ["compare", str(world), "--methods", "random", "--out", out],
        "synth": ["data", "synth", out, "--readers", "60"],
    }
    assert run(arguments[command]) == 2
    told_in_one_line(capsys, out, "full" if state == "full" else "cannot be written")


def test_a_disk_that_fills_up_is_one_line_and_what_was_finished_stays(world, disk, capsys, monkeypatch):
    assert run(["data", "synth", str(disk / "world"), "--readers", "3000"]) == 2
    told_in_one_line(capsys, "the disk is full")
    assert list(disk.iterdir()) == []
    out = disk / "report"
    from discreet.methods.baselines import Content

    score = Content.score

    def filling(self, *arguments):
        (disk / "filling").write_bytes(bytes(disk_left(disk) - 4_096))
        return score(self, *arguments)

    monkeypatch.setattr(Content, "score", filling)
    arguments = ["compare", str(world), "--methods", "random,content", "--text", "hashed", "--out", str(out)]
    assert run(arguments) == 2
    told_in_one_line(capsys, "the disk is full", "what was finished is kept")
    assert [path.name.split("-")[0] for path in (out / "measurements").iterdir()] == ["random"]
    (disk / "filling").unlink()
    monkeypatch.undo()
    assert run(arguments) == 0
    assert "Reused from an earlier comparison: random" in " ".join(capsys.readouterr().out.split())


def test_a_training_whose_disk_fills_up_is_resumed(world, disk, capsys, monkeypatch):
    from discreet.methods.run import Run

    settings = ["--method", "fedrec", "--rounds", "2", "--set", "fraction=0.05", "--text", "hashed"]
    arguments = ["train", str(world), *settings, "--out", str(disk / "run")]
    save = Run.save

    def filling(self, *arguments, **settings):
        (disk / "filling").write_bytes(bytes(disk_left(disk) - 4_096))
        save(self, *arguments, **settings)

    monkeypatch.setattr(Run, "save", filling)
    assert run(arguments) == 2
    told_in_one_line(capsys, "the disk is full")
    assert sorted(path.name for path in disk.iterdir()) == ["filling", "run.checkpoint"]
    monkeypatch.undo()
    (disk / "filling").unlink()
    assert run([*arguments, "--resume"]) == 0
    assert sorted(path.name for path in disk.iterdir()) == ["run"]


def disk_left(place):
    import os

    found = os.statvfs(place)
    return found.f_bavail * found.f_frsize


@pytest.mark.parametrize("out", ["file/out.txt", "folder.txt"])
@pytest.mark.parametrize("command", ["submit", "catalogue", "audit", "share", "terms", "embed"])
def test_no_work_is_done_for_a_file_that_cannot_be_written(made, tmp_path, capsys, monkeypatch, command, out):
    (tmp_path / "file").write_text("no folder")
    for folder in ("folder.txt", "folder.svg", "run"):
        (tmp_path / folder).mkdir()
    (tmp_path / "ratings.csv").write_text("user,item,rating\na,b,1\n")
    path = str(tmp_path / (out if command != "audit" else out.replace(".txt", ".svg")))
    addresses = ["--leader", "https://a.example", "--helper", "https://b.example"]
    commands = {
        "submit": ["submit", str(tmp_path / "run"), str(made), "--split", "dev", "--out", path],
        "catalogue": ["data", "catalogue", str(made), path],
        "audit": ["audit", "randomized response", "--plot", path],
        "share": ["vendors", "share", str(tmp_path / "ratings.csv"), "--vendors", "2", "--epsilon", "5", "--out", path],
        "terms": ["aggregate", "terms", "popularity", *addresses, "--epsilon", "1", "--out", path],
        "embed": ["embed", "http://127.0.0.1:9", "--write", path],
    }
    monkeypatch.setattr("discreet.data.open.open_with_train", lambda *_: pytest.fail("read the data"))
    monkeypatch.setattr("discreet.audits.run", lambda *_, **__: pytest.fail("ran audits"))
    assert run(commands[command]) == 2
    told_in_one_line(capsys, f"{path}: ", "is a folder" if out == "folder.txt" else "cannot be written")
