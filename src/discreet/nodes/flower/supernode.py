"""Flower's SuperNode with a relay of ours in it, and shorter naps.

    python -m discreet.nodes.flower.supernode --superlink HOST:PORT --port 9094 --node-config 'node=2 socket="…"'

takes the options of `flower-supernode`; it adds `--isolation process`, so that the SuperNode starts no app by itself
(`relay` says why), and runs the relay in a thread. And it looks for messages several times a second: Flower 1.41 looks
every three seconds and has no setting for it, but a secure sum asks five times, and would spend its rounds asleep.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from threading import Thread
from types import SimpleNamespace

from flwr.supernode import start_client_internal
from flwr.supernode.cli.flower_supernode import flower_supernode

from discreet.nodes.flower.relay import relay

MAX_PAUSE_SECONDS = 0.25


def main() -> None:
    """Run until the process is ended."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--port", type=int, default=9094)
    port = parser.parse_known_args()[0].port
    sys.argv += ["--isolation", "process", "--host", "127.0.0.1"]
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("flwr").propagate = False
    vars(start_client_internal)["time"] = SimpleNamespace(**{**vars(time), "sleep": _pause})
    Thread(target=relay, args=(f"127.0.0.1:{port}",), daemon=True).start()
    flower_supernode()


def _pause(seconds: float) -> None:
    time.sleep(min(seconds, MAX_PAUSE_SECONDS))


if __name__ == "__main__":
    main()
