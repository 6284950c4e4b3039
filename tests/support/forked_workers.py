"""`python forked_workers.py FOLDER [fail]`: two workers that write their process ids into a folder, and wait."""

import os
import signal
import sys
from pathlib import Path

from discreet.serving.workers import become_worker

if __name__ == "__main__":
    worker = become_worker(2)
    if "fail" in sys.argv:
        sys.exit(3)
    Path(sys.argv[1], f"{os.getpid()}{'.speaks' if worker.speaks else ''}").touch()
    worker.ready()
    signal.pause()
