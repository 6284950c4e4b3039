"""The folder of a helper, the second aggregator: its key, and the roster of the nodes whose sums it helps with.

FOLDER/helper.key          opens what nodes seal for it: never leaves the helper
FOLDER/helper.key.pub      for every node, next to its roster.json
FOLDER/roster.json         every node's number and public key, from the nodes
"""

from __future__ import annotations

import shutil
from pathlib import Path

from discreet.aggregation.dap.key_files import public_path, read_key, write_key
from discreet.aggregation.split_sum.split_helper import SplitHelper
from discreet.errors import InputError
from discreet.nodes.configuration import HELPER_KEY, read_roster, write_roster
from discreet.nodes.requests import purpose

KEY = "helper.key"


def write_local_helper(deployment: Path) -> Path:
    """Write the folder of a helper into that of a deployment on one machine, unless it is there; and its key for all.

    Returns:
        The helper's folder.
    """
    folder = deployment / "helper"
    if not (deployment / HELPER_KEY).exists():
        folder.mkdir(mode=0o700, exist_ok=True)
        if not (folder / KEY).exists():
            write_key(folder / KEY)
        write_roster(folder / "roster.json", read_roster(deployment / "roster.json"))
        shutil.copy(public_path(folder / KEY), deployment / HELPER_KEY)
    return folder


def open_helper(folder: Path) -> SplitHelper:
    """The helper of a folder.

    Raises:
        InputError: the key or the roster is missing or cannot be used.
    """
    if not (folder / KEY).exists():
        raise InputError(folder / KEY, "is not there; make it with: discreet aggregate keygen FOLDER/helper.key")
    return SplitHelper(read_key(folder / KEY), read_roster(folder / "roster.json"), purpose)
