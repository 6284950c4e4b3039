"""The server's side of sharing across machines: it asks the rounds by secure sums or as the leader of two aggregators.

It sees sums over all vendors, with the noise of all, and nothing else. Each question is on the disk before it is
asked, each answer before the next question: a server that was stopped goes on with the same question, and never asks
one again that was answered. A job that is refused before its first answer leaves nothing behind: its first question
follows from the job alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from discreet.aggregation.split_sum import AskHelper
from discreet.errors import DiscreetError, InputError
from discreet.nodes import Nodes, NodeSum, SecureSums, SplitSums, helper_at
from discreet.progress import notice
from discreet.vendors.implicit.sharing import purchase_plan
from discreet.vendors.sharing import plan
from discreet.vendors.sharing.contributions import Integers
from discreet.vendors.sharing.job import Feedback, ShareJob
from discreet.vendors.sharing.releases import Question, Releases
from discreet.vendors.sharing.sharing_rounds import Course, Round
from discreet.vendors.sharing.tasks import SharingTask

COURSES: dict[Feedback, Course] = {
    "explicit": plan.converse,
    "implicit": purchase_plan.converse,
}
"""Which rounds are asked."""


class JobSums(Protocol):
    """Sums over nodes that have all opened one job."""

    def sum(self, task: bytes, length: int) -> NodeSum:
        """The sum of the vectors that nodes contribute to a task, and which nodes are in it."""
        ...


def share_over_nodes(sums: JobSums, job: ShareJob, out: Path) -> Releases:
    """All rounds of a job, from wherever an earlier run of it stopped; the releases are in `out` at the end.

    Raises:
        DiscreetError: vendors are missing or refuse (run it again when that is put right), or `out` is another job's.
    """
    partial = out.with_name(f"{out.name}.part")
    conversation = _Conversation(sums, _begun(job, out, partial), partial)
    if not conversation.releases.complete:
        try:
            COURSES[job.feedback](conversation.ask, job.budget, len(job.items))
        except DiscreetError:
            if not conversation.releases.answers():
                partial.unlink(missing_ok=True)
            raise
        conversation.releases = replace(conversation.releases, complete=True)
        conversation.releases.save(out)
    partial.unlink(missing_ok=True)
    return conversation.releases


def share_over(
    nodes: Nodes, roster: Mapping[int, bytes], job: ShareJob, out: Path, timeout: float, helper: AskHelper | None = None
) -> Releases:
    """`share_over_nodes` with sums over nodes, by the secure sum or with a helper, as the job says.

    Each node has `timeout` seconds for a step, and to come back.
    """
    if tuple(sorted(roster)) != job.nodes:
        raise DiscreetError("the roster's nodes are not the job's vendors")
    description, promised = job.to_bytes(), job.guarantee()
    sums: JobSums
    if job.aggregation == "secure sum":
        sums = SecureSums(nodes, roster, description, promised, timeout=timeout, everybody=True)
    elif helper is not None:
        sums = SplitSums(nodes, roster, description, promised, helper, timeout=timeout)
    else:
        raise DiscreetError("a sum by two aggregators needs a helper; say where it is: --helper https://…")
    return share_over_nodes(sums, job, out)


def program(nodes: Nodes, arguments: dict[str, Any]) -> dict[str, Any]:
    """What the server of a deployment runs. Paths mean the server's disk.

    Args:
        nodes: The vendors' nodes.
        arguments: `job`, the path of the job's description; `roster`, each node's public key in hex by its number;
            `out`, the path for the releases; `timeout`, how many seconds a node has for a step; `helper`, the address
            of the second aggregator, or None; `authorities`, a file of certificates to trust for it, or None.

    Returns:
        `out`, and how many `rounds` there were.
    """
    job, out = ShareJob.from_bytes(Path(arguments["job"]).read_bytes()), Path(arguments["out"])
    roster = {int(number): bytes.fromhex(key) for number, key in arguments["roster"].items()}
    address, trusted = arguments.get("helper"), arguments.get("authorities")
    helper = None if address is None else helper_at(address, None if trusted is None else Path(trusted))
    released = share_over(nodes, roster, job, out, arguments["timeout"], helper)
    return {"out": str(out), "rounds": len(released.asked)}


class _Conversation:
    """Rounds asked one after the other, of which some may have been asked or answered by an earlier run."""

    def __init__(self, sums: JobSums, releases: Releases, partial: Path) -> None:
        self.releases = releases
        self._sums = sums
        self._partial = partial
        self._next = 0

    def ask(self, asked: Round) -> Integers:
        """The sum of all vendors' answers to the next round."""
        number, self._next = self._next, self._next + 1
        before = self.releases.asked
        if number == len(before):
            self._keep([*before, Question(SharingTask(number, asked).to_bytes(len(self.releases.job.items)), None)])
        task, total = self.releases.asked[number]
        if total is None:
            total = self._sum(task)
            self._keep([*before[:number], Question(task, total)])
            notice(f"round {number + 1}: all {len(self.releases.job.nodes)} vendors have answered")
        return total

    def _sum(self, task: bytes) -> Integers:
        """The answer to a question just as it was first sent: vendors refuse another in its place."""
        job = self.releases.job
        found = self._sums.sum(task, SharingTask.from_bytes(task, job).round.length(len(job.items)))
        if found.nodes != job.nodes:
            raise DiscreetError(f"the sum is over the nodes {found.nodes}, not over all vendors")
        return found.values

    def _keep(self, asked: list[Question]) -> None:
        self.releases = replace(self.releases, asked=tuple(asked))
        self.releases.save(self._partial)


def _begun(job: ShareJob, out: Path, partial: Path) -> Releases:
    """What an earlier run has left, or nothing yet."""
    for path in (out, partial):
        if path.exists():
            found = Releases.load(path)
            if found.job != job:
                raise InputError(path, "belongs to another sharing; choose another file, or give the same settings")
            return found
    return Releases(job)
