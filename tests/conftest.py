"""Shared fixtures: where the public data sets and the drafts' test vectors are, if they are."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # tests run side by side; waiting threads must not spin


@pytest.fixture(scope="session")
def shared_data() -> Path:
    root = Path(os.environ.get("DISCREET_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not root.is_dir():
        pytest.skip(f"public data sets are not at {root}; set DISCREET_DATA")
    return root


@pytest.fixture(scope="session")
def shared_specs() -> Path:
    root = Path(os.environ.get("DISCREET_SPECS", Path(__file__).parents[2] / "shared" / "specs"))
    if not root.is_dir():
        pytest.skip(f"the drafts' test vectors are not at {root}; set DISCREET_SPECS")
    return root
