"""Sums over nodes: each hosts the data of many readers, or of a vendor, and gives one integer vector to a secure sum.

Torch-free, and without an engine: what travels is bytes, and whoever implements `Nodes` may carry them.
"""

from discreet.nodes.sums import LostRound, SecureSums
from discreet.nodes.transport import Answer, Assignment, Contribute, LocalNodes, Nodes, NodeSum, OpenJob

__all__ = [
    "Answer",
    "Assignment",
    "Contribute",
    "LocalNodes",
    "LostRound",
    "NodeSum",
    "Nodes",
    "OpenJob",
    "SecureSums",
]
