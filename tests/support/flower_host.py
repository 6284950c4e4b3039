"""A node's host for tests: it echoes, unless it finds a file that tells it to hold its answer back.

python flower_host.py NODE_FOLDER
"""

import signal
import sys
import threading
import time
from pathlib import Path

from discreet.nodes.configuration import read_node
from discreet.nodes.host_socket import serve_host

if __name__ == "__main__":
    node = read_node(Path(sys.argv[1]))
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())

    def answer(request: bytes) -> bytes:
        if (node.folder / "hold").exists():
            (node.folder / "holding").touch()
            time.sleep(3600)
        return request

    serve_host(node.socket, answer, stop)
