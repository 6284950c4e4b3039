"""Flower carries the bytes between server and nodes: in its simulation, or between machines (extra `flower`).

Server and nodes exchange opaque bytes (`discreet.nodes`). On a node, Flower's ClientApp is a thin relay to
the node's long-lived host, which keeps data, keys and state; on the server, its ServerApp runs a program of Discreet.
Flower's telemetry and its check for updates are off, unless the environment says otherwise.
"""

import os

os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
os.environ.setdefault("FLWR_DISABLE_UPDATE_CHECK", "1")
