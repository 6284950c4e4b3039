"""What goes wrong with which node during one sum: said once, remembered for the next round and for the last word."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from discreet.aggregation.secure_sum.refusals import Refused
from discreet.aggregation.secure_sum.sum_terms import Step
from discreet.nodes.requests import NodeRefusal
from discreet.progress import notice

_MAX_REASONS = 5


class NodeFailures:
    """What failed in one sum.

    Attributes:
        failed: the nodes that dropped out of the last round to which they were invited.
        silent: those of them that did not answer at all, and may only need time.
        permanent: the nodes that would refuse this sum every time.
        lost: why the last round as a whole was lost, if it was.
    """

    def __init__(self, after: NodeFailures | None = None) -> None:
        """None yet; but nodes that dropped out of the last sum, if that was lost, are still known for it."""
        self.failed: set[int] = set(after.failed) if after else set()
        self.silent: set[int] = set(after.silent) if after else set()
        self.permanent: set[int] = set()
        self.lost = ""
        self._reasons: dict[int, str] = {}
        self._said: set[str] = set()

    def new_round(self, invited: Collection[int]) -> None:
        """Give those who are invited another try."""
        self.failed.difference_update(invited)
        self.silent.difference_update(invited)
        self.lost = ""
        for node in invited:
            self._reasons.pop(node, None)

    def no_answer(self, node: int, step: Step) -> None:
        """The node has left, is late or is down."""
        self.silent.add(node)
        self._fail(node, f"no answer in time at step {step.name}")

    def bad_answer(self, node: int, step: Step, refusal: Refused) -> None:
        """The server refuses what the node has answered."""
        self._fail(node, f"wrong answer at step {step.name}, {type(refusal).__name__}: {refusal}")

    def refusal(self, node: int, answer: NodeRefusal) -> None:
        """The node refuses."""
        if answer.permanent:
            self.permanent.add(node)
        self._fail(node, f"refused, {answer.reason}")

    def stranger(self, node: int) -> None:
        """The node is there, but nobody knows it."""
        self._say(f"node {node} is not in the roster, and is not asked")

    def waiting(self, here: int, roster: int) -> None:
        """Too few are there."""
        self._say(f"waiting for nodes: {here} of {roster} can be asked")

    def lost_round(self, refusal: Refused) -> None:
        """The round has failed as a whole."""
        self.lost = f"{type(refusal).__name__}: {refusal}"
        notice(f"the round of the secure sum is lost ({self.lost})")

    def in_one_line(self, roster: Collection[int], present: Collection[int], timeout: float) -> str:
        """Why there is no sum, who has answered, and what to do."""
        absent = sorted(set(roster) - set(present) - self._reasons.keys())
        well = sorted(set(roster) - self._reasons.keys() - set(absent))
        nodes_of: dict[str, list[int]] = {}
        for node, reason in sorted(self._reasons.items()):
            nodes_of.setdefault(reason, []).append(node)
        reasons = [f"{_listed(nodes)}: {reason}" for reason, nodes in nodes_of.items()]
        if len(reasons) > _MAX_REASONS:
            reasons = [*reasons[:_MAX_REASONS], f"{len(reasons) - _MAX_REASONS} more reasons"]
        parts = [f"in order: {_listed(well)}", *reasons]
        if absent:
            parts.append(f"not to be reached: {_listed(absent)}")
        if self.lost:
            parts.append(f"the last round was lost ({self.lost})")
        advice = f"Start the missing nodes, allow more than {timeout:g} s a step, or put right what is refused"
        return f"no secure sum over the nodes; {'; '.join(parts)}. {advice}; then run again"

    def _fail(self, node: int, reason: str) -> None:
        self.failed.add(node)
        self._reasons[node] = reason
        self._say(f"node {node}: {reason}")

    def _say(self, line: str) -> None:
        if line not in self._said:
            self._said.add(line)
            notice(line)


def _listed(nodes: Iterable[int]) -> str:
    numbers = [str(node) for node in nodes]
    if not numbers:
        return "no node"
    return f"node {numbers[0]}" if len(numbers) == 1 else f"nodes {', '.join(numbers)}"
