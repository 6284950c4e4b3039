"""A run that was damaged is never loaded, whichever byte it is."""

import random

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.methods.published.fedrec import FedRec
from discreet.methods.run import Run


def test_a_flipped_byte_anywhere_in_a_run_is_found(tmp_path):
    chance = random.Random(4)
    weights = np.random.default_rng(4).normal(size=(6, 8)).astype(np.float32)
    state = {"weights": weights, "losses": np.ones(3), "watched": np.array([[1.0, 0.5]])}
    folder = tmp_path / "run"
    Run(FedRec(rounds=3), state, "made", 1, "hashed").save(folder)
    assert np.array_equal(Run.load(folder).state["weights"], weights)
    files = {path: path.read_bytes() for path in folder.iterdir()}
    assert {path.name for path in files} == {
        "run.json",
        "state.safetensors",
        "rounds.csv",
        "curve.svg",
        "discreet.sha256",
    }
    for path, content in files.items():
        for _ in range(200):
            damaged = bytearray(content)
            damaged[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
            path.write_bytes(damaged)
            with pytest.raises(InputError) as found:
                Run.load(folder)
            assert str(folder) in str(found.value)
            assert "\n" not in str(found.value)
        path.write_bytes(content)
    Run.load(folder)


def test_a_run_without_digests_is_refused(tmp_path):
    folder = tmp_path / "run"
    Run(FedRec(), {"weights": np.ones(2)}, "made", 1, "hashed").save(folder)
    (folder / "discreet.sha256").unlink()
    with pytest.raises(InputError, match=r"discreet\.sha256"):
        Run.load(folder)
