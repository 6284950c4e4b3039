"""Nothing of a user's is lost: what is overwritten, what is refused, and what a failure leaves."""

import os
import subprocess
from pathlib import Path

import pytest

from discreet.errors import DiscreetError, DiskFullError, InputError
from discreet.files import (
    MARK,
    add_to_folder,
    check_folder,
    claim_folder,
    creating_folder,
    mark_files,
    replacing_file,
    replacing_folder,
    verify_folder,
)


def written(folder: Path, text: str = "old", **how) -> Path:
    with replacing_folder(folder, **how) as draft:
        (draft / "part").mkdir()
        (draft / "part" / "a.txt").write_text(text)
    return folder


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_marked_folder_is_replaced_as_a_whole(tmp_path):
    folder = written(tmp_path / "out")
    with pytest.raises(DiscreetError, match="--overwrite"):
        written(folder, "new")
    written(folder, "new", overwrite=True)
    assert (folder / "part" / "a.txt").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    verify_folder(folder)
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", MARK], cwd=folder, check=True)


@pytest.mark.parametrize("where", ["unmarked", "added", "added below", "link in it"])
def test_what_discreet_did_not_write_is_never_overwritten(tmp_path, where):
    folder = tmp_path / "out"
    if where == "unmarked":
        folder.mkdir()
        (folder / "thesis.txt").write_text("years of work")
    else:
        written(folder)
    if where.startswith("added"):
        (folder / ("part" if where.endswith("below") else "") / "thesis.txt").write_text("years of work")
    if where == "link in it":
        (folder / "data").symlink_to(tmp_path)
    before = everything(folder)
    with pytest.raises(DiscreetError, match="Discreet"):
        written(folder, "new", overwrite=True)
    assert everything(folder) == before


def test_files_that_discreet_adds_later_go_with_the_folder(tmp_path):
    folder = written(tmp_path / "out")
    (folder / "serving.sqlite-wal").write_text("")
    written(folder, "new", overwrite=True, own=["serving.sqlite*"])
    assert sorted(everything(folder)) == [MARK, "part/a.txt"]


@pytest.mark.parametrize("name", [".", "..", "{here}", "{here}/.."])
def test_the_working_directory_stays(tmp_path, monkeypatch, name):
    here = written(tmp_path / "here")
    monkeypatch.chdir(here)
    before = everything(here)
    with pytest.raises(DiscreetError, match="working directory"):
        written(Path(name.format(here=here)), overwrite=True)
    assert everything(here) == before


def test_an_input_is_not_overwritten_by_what_is_made_of_it(tmp_path):
    data = written(tmp_path / "data")
    for given in (data, data / "part", data / "part" / "a.txt"):
        with pytest.raises(DiscreetError, match="is read from there"):
            written(data, overwrite=True, inputs=[given])
    written(data / "run", inputs=[data])


@pytest.mark.parametrize("leads", ["to a marked folder", "to an empty folder", "nowhere"])
def test_a_symbolic_link_is_refused_in_one_line(tmp_path, leads):
    target = tmp_path / "target"
    if leads == "to a marked folder":
        written(target)
    elif leads == "to an empty folder":
        target.mkdir()
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(DiscreetError, match="symbolic link"):
        written(tmp_path / "link", "new", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert not target.exists() or everything(target).get("part/a.txt", b"old") == b"old"


@pytest.mark.parametrize("failing", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_folder(tmp_path, failing):
    folder = written(tmp_path / "out")
    before = everything(folder)
    with pytest.raises(failing), replacing_folder(folder, overwrite=True):
        raise failing
    assert everything(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_failure_in_the_swap_itself_leaves_the_old_folder(tmp_path, monkeypatch):
    folder = written(tmp_path / "out")
    before = everything(folder)
    rename = Path.rename

    def failing(self, target):
        if self.name == "new":
            raise OSError(5, "Input/output error", str(self))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="Input/output"):
        written(folder, "new", overwrite=True)
    assert everything(folder) == before


def test_a_folder_for_keys_gets_no_mark_and_is_never_replaced(tmp_path):
    with creating_folder(tmp_path / "keys") as draft:
        (draft / "secret").write_text("")
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["secret"]
    with pytest.raises(DiscreetError, match="not empty"), creating_folder(tmp_path / "keys"):
        pass


def test_a_report_replaces_its_own_files_and_nobody_elses(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    names = ["report.html", "plot.svg"]
    claim_folder(tmp_path, names)
    for name in names:
        (tmp_path / name).write_text("first")
    mark_files(tmp_path, names, names)
    claim_folder(tmp_path, names)
    mark_files(tmp_path, names, ["report.html"])
    assert sorted(path.name for path in tmp_path.iterdir()) == [MARK, "notes.txt", "report.html"], "no stale plot"
    verify_folder(tmp_path)
    (tmp_path / MARK).unlink()
    with pytest.raises(DiscreetError, match=r"report\.html: was not written by Discreet"):
        claim_folder(tmp_path, names)


def test_every_flipped_byte_and_lost_file_is_found_and_named(tmp_path):
    folder = written(tmp_path / "out")
    add_to_folder(folder, "later.json", "{}\n")
    verify_folder(folder)
    for name, content in everything(folder).items():
        for place in range(len(content)):
            for bit in (0, 5, 7):
                damaged = bytearray(content)
                damaged[place] ^= 1 << bit
                (folder / name).write_bytes(damaged)
                with pytest.raises(InputError, match=str(folder)):
                    verify_folder(folder)
        (folder / name).unlink()
        with pytest.raises(InputError, match=Path(name).name):
            verify_folder(folder)
        (folder / name).write_bytes(content)
    verify_folder(folder)


def test_a_mark_that_names_files_elsewhere_is_refused(tmp_path):
    folder = written(tmp_path / "out")
    mark = (folder / MARK).read_text()
    for name in ("../secret", "/etc/passwd"):
        (folder / MARK).write_text(mark.replace("part/a.txt", name))
        with pytest.raises(InputError, match="outside"):
            verify_folder(folder)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 KiB, for those who may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    try:
        done = subprocess.run(options, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode != 0:
        pytest.skip("only root may mount a small file system")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_is_one_line_and_leaves_the_old(small_disk):
    folder = written(small_disk / "out")
    with pytest.raises(DiskFullError, match="the disk is full"):
        written(folder, "new" * 100_000, overwrite=True)
    assert (folder / "part" / "a.txt").read_text() == "old"
    verify_folder(folder)
    with pytest.raises(DiskFullError, match=r"b\.txt: the disk is full"), replacing_file(small_disk / "b.txt") as draft:
        draft.write_bytes(bytes(300_000))
    assert not (small_disk / "b.txt").exists()


def test_a_full_or_read_only_disk_is_found_before_the_work(small_disk):
    with pytest.raises(DiscreetError, match="mount point"):
        check_folder(small_disk)
    (small_disk / "filling").write_bytes(bytes(240_000))
    with pytest.raises(DiskFullError):
        check_folder(small_disk / "deep" / "out")
    with pytest.raises(DiskFullError):
        claim_folder(small_disk, ["report.html"])
    (small_disk / "filling").unlink()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(DiscreetError, match="cannot be written"):
        check_folder(small_disk / "out")


def test_a_library_that_names_a_full_disk_in_its_own_way_is_understood(tmp_path):
    with pytest.raises(DiskFullError), replacing_file(tmp_path / "state"):
        raise RuntimeError(f"I/O error: {os.strerror(28)} (os error 28)")
    assert list(tmp_path.iterdir()) == []
