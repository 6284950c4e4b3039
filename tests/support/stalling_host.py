"""A node's host that stops in the middle of a chosen round, once, so that a test can kill it there.

python stalling_host.py NODE_FOLDER ROUND REACHED: writes the file REACHED when it has been asked for its contribution
to that round, and then does nothing.
"""

import struct
import sys
import time
from pathlib import Path

from discreet.cli import run
from discreet.edge.node.training_node import TrainingNode


def main(folder: str, number: int, reached: Path) -> int:
    contribute = TrainingNode.contribute

    def stalling(self, assignment):
        if struct.unpack_from("<Q", assignment.task)[0] == number and not reached.exists():
            reached.touch()
            time.sleep(600)
        return contribute(self, assignment)

    TrainingNode.contribute = stalling
    return run(["nodes", "host", folder])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
