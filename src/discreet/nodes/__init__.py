"""Sums over nodes: each hosts the data of many readers, or of a vendor, and gives one integer vector to a secure sum.

Torch-free, and without an engine: what travels is bytes, and every class that implements `Nodes` can carry them.
"""

from discreet.nodes.node_transport import (
    Aggregation,
    Answer,
    Assignment,
    Contribute,
    LocalNodes,
    Nodes,
    NodeSum,
    OpenJob,
)
from discreet.nodes.secure_sums import LostRound, SecureSums
from discreet.nodes.split_sums import SplitSums, helper_at

__all__ = [
    "Aggregation",
    "Answer",
    "Assignment",
    "Contribute",
    "LocalNodes",
    "LostRound",
    "NodeSum",
    "Nodes",
    "OpenJob",
    "SecureSums",
    "SplitSums",
    "helper_at",
]
