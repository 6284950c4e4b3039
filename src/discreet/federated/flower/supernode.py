"""Flower's SuperNode, but one that looks for messages several times a second.

Flower 1.41 looks every three seconds, and has no setting for it; a secure sum asks five times, so that most of a
round would be spent asleep. This program is `flower-supernode`, with the same options, and shorter naps.
"""

from __future__ import annotations

import time
from types import SimpleNamespace

from flwr.supernode import start_client_internal
from flwr.supernode.cli.flower_supernode import flower_supernode

LONGEST_NAP = 0.25


def _nap(seconds: float) -> None:
    time.sleep(min(seconds, LONGEST_NAP))


if __name__ == "__main__":
    vars(start_client_internal)["time"] = SimpleNamespace(**{**vars(time), "sleep": _nap})
    flower_supernode()
