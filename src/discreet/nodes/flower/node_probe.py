"""A program that does nothing but ask: which nodes answer, and how fast."""

from __future__ import annotations

import time
from typing import Any

from discreet.nodes.node_transport import Nodes
from discreet.progress import track


def probe(nodes: Nodes, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """Ask all nodes that are there for something that no host grants, up to so many times.

    Args:
        nodes: whom to ask.
        arguments: "times"; "timeout", in seconds; perhaps "bytes", the length of what is asked, and "wanted", a list
            of nodes: it ends when these have all answered at once.

    Returns:
        For every time, the nodes that have answered, ascending, and the seconds until the last of them had.
    """
    request = bytes(int(arguments.get("bytes", 0)))
    wanted = frozenset(arguments.get("wanted", ()))
    rounds: list[dict[str, Any]] = []
    for _ in track(range(int(arguments["times"])), "Probing"):
        present = nodes.present()
        start = time.monotonic()
        answers = nodes.ask(dict.fromkeys(present, request), float(arguments["timeout"]))
        rounds.append({"nodes": sorted(answers), "seconds": time.monotonic() - start})
        if wanted and wanted <= answers.keys():
            break
    return rounds
