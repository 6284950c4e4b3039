"""What a reader's device gives to sums over all readers: public tasks, checked, paid for, and contributed to."""

from discreet.edge.reader.sums.contributor import Contributor, Sender
from discreet.edge.reader.sums.floors import Floors

__all__ = ["Contributor", "Floors", "Sender"]
