"""The leader, apart from HTTP: it takes reports, and brings them to the helper in aggregation jobs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from discreet.aggregation.dap.aggregator_store import Counted
from discreet.aggregation.dap.agreement import Agreement
from discreet.aggregation.dap.batches import decoded
from discreet.aggregation.dap.leader_store import LeaderStore, Uploaded
from discreet.aggregation.dap.messages import (
    AggregationJobInitReq,
    AggregationJobResp,
    HpkeCiphertext,
    Report,
    ReportError,
    ReportMetadata,
    ReportShare,
    ReportUploadStatus,
    UploadErrors,
    UploadRequest,
    VerifyInit,
    VerifyRespType,
)
from discreet.aggregation.dap.problems import DapProblem, ProblemType, encode_id
from discreet.aggregation.dap.retention import clock_problem, forget_old
from discreet.aggregation.dap.shares import Sealing
from discreet.aggregation.dap.transport import Peer, PeerError
from discreet.aggregation.dap.wire import MessageError
from discreet.aggregation.prio3 import InvalidReportError
from discreet.aggregation.prio3 import VerifierInput as InputShare
from discreet.aggregation.prio3.ping_pong import Continued, leader_continued, leader_init

MAX_JOB_REPORTS = 500
MAX_JOB_BYTES = 4 << 20
_ENC_SIZE, _SEAL_SIZE, _PLAIN_HEAD = 32, 16, 6
_FINAL = (ProblemType.INVALID_MESSAGE, ProblemType.UNSUPPORTED_EXTENSION, ProblemType.INVALID_AGGREGATION_PARAMETER)

_log = logging.getLogger(__name__)

Peers = Callable[[str], Peer]


@dataclass(frozen=True)
class Upload:
    """An upload request that was read: what to keep, and what is wrong with the rest."""

    task: int
    reports: list[Uploaded]
    problems: list[ReportUploadStatus]
    order: list[bytes]

    def refusals(self, kept: Sequence[ReportError | None]) -> list[ReportError]:
        """Why reports were not taken, one reason each."""
        return [one.error for one in self.problems] + [problem for problem in kept if problem is not None]

    def answer(self, kept: Sequence[ReportError | None]) -> bytes:
        """The answer, once the reports are kept: nothing, or those that were not taken, in the request's order."""
        late = [
            ReportUploadStatus(one.report_id, problem)
            for one, problem in zip(self.reports, kept, strict=True)
            if problem is not None
        ]
        place = {key: number for number, key in reversed(list(enumerate(self.order)))}
        return UploadErrors(tuple(sorted((*self.problems, *late), key=lambda one: place[one.id]))).encode()


class Leader:
    """One process of a leader; several may share a database.

    Args:
        store: Its database.
        sealing: Its keys.
        agreements: Its tasks.
        peers: The helper at an address.
        threads: How many processors verification may use.
    """

    def __init__(
        self,
        store: LeaderStore,
        sealing: Sealing,
        agreements: Iterable[Agreement],
        peers: Peers,
        threads: int = 1,
    ) -> None:
        self.store, self.sealing, self.peers, self._threads = store, sealing, peers, threads
        self.tasks = {one.task.id: (one, store.open_task(one.task.id, one.task.window_seconds)) for one in agreements}

    def task(self, task_id: bytes) -> tuple[Agreement, int]:
        """A task, with its number in the database."""
        found = self.tasks.get(task_id)
        if found is None:
            raise DapProblem(ProblemType.UNRECOGNIZED_TASK, "this leader does not have this task", 404)
        return found

    def read_upload(self, task_id: bytes, body: bytes) -> Upload:
        """Read reports, and find those that cannot be right. Nothing is opened here."""
        agreement, task = self.task(task_id)
        reports = decoded(UploadRequest, body).reports
        upload = Upload(task, [], [], [one.report_metadata.report_id for one in reports])
        for report in reports:
            about = report.report_metadata
            problem = self._problem(agreement, report)
            if problem is None:
                upload.reports.append(Uploaded(about.report_id, about.time, report.encode()))
            else:
                upload.problems.append(ReportUploadStatus(about.report_id, problem))
        return upload

    def run_jobs(self, task_id: bytes) -> bool:
        """Bring all waiting reports to the helper; False if some must wait for the next time."""
        agreement, task = self.task(task_id)
        peer, reached = self.peers(agreement.task.helper), True
        for job in chain(self.store.open_jobs(task), iter(lambda: self._new_job(agreement, task), None)):
            try:
                self._run_job(agreement, task, job, peer)
            except PeerError as error:
                reached = False
                if not error.answered:
                    break
        return reached

    def forget(self, seconds: float) -> None:
        """Delete what is about windows that ended so long before the newest one."""
        forget_old(self.store, self.tasks.values(), self.sealing.clock(), seconds)

    def clock_problem(self) -> str:
        """What speaks against the clock; empty where nothing does."""
        return clock_problem(self.store, self.tasks.values(), self.sealing.clock())

    def _problem(self, agreement: Agreement, report: Report) -> ReportError | None:
        about, prio3 = report.report_metadata, agreement.prio3
        if not self.sealing.knows(report.leader_encrypted_input_share.config_id):
            return ReportError.OUTDATED_CONFIG
        fits = (
            len(report.public_share) == prio3.public_share_size
            and _fits(report.leader_encrypted_input_share, prio3.input_share_size(0))
            and _fits(report.helper_encrypted_input_share, prio3.input_share_size(1))
        )
        if about.public_extensions or not fits:
            return ReportError.INVALID_MESSAGE
        problem = self.sealing.time_problem(agreement, about.time)
        return problem if problem in (None, ReportError.REPORT_TOO_EARLY) else ReportError.REPORT_DROPPED

    def _new_job(self, agreement: Agreement, task: int) -> int | None:
        until = int(self.sealing.clock()) // agreement.task.window_seconds
        prio3 = agreement.prio3
        size = prio3.input_share_size(1) + prio3.public_share_size + prio3.verifier_share_size + 200
        return self.store.new_job(task, until, max(1, min(MAX_JOB_REPORTS, MAX_JOB_BYTES // size)))

    def _run_job(self, agreement: Agreement, task: int, job: int, peer: Peer) -> None:
        """Bring a job to the helper, and count what it answers; a `PeerError` if it must be brought again."""
        request, encoded = self.store.job(task, job)
        reports = [Report.decode(report) for report in encoded]
        states = self._verify(agreement, reports)
        if request is None:
            request = self.store.fix_request(task, job, _request(reports, states).encode())
        asked = [one.report_share.report_metadata for one in AggregationJobInitReq.decode(request).verify_inits]
        counted: list[Counted] = []
        location = None
        if asked:
            path = f"/tasks/{encode_id(agreement.task.id)}/aggregation_jobs"
            try:
                created = peer.create(path, request, AggregationJobInitReq, AggregationJobResp)
                location = created.location
                counted = self._outcome(agreement, asked, states, AggregationJobResp.decode(created.body))
            except PeerError as error:
                if error.kind not in _FINAL:
                    raise
            except MessageError:
                pass  # the job is abandoned
        self.store.finish(task, job, agreement.prio3, counted)
        if location is not None:
            _delete(peer, location)

    def _verify(self, agreement: Agreement, reports: Sequence[Report]) -> dict[bytes, Continued]:
        """The leader's first step; without reports that are to be dropped. The same whenever it is done again."""
        opened = [
            self.sealing.open(agreement, one.report_metadata, one.public_share, one.leader_encrypted_input_share)
            for one in reports
        ]
        shares = [one for one in opened if isinstance(one, InputShare)]
        done = leader_init(agreement.prio3, agreement.verify_key, agreement.context, shares, self._threads)
        return {share.nonce: first for share, first in zip(shares, done, strict=True) if first is not None}

    def _outcome(
        self,
        agreement: Agreement,
        asked: Sequence[ReportMetadata],
        states: dict[bytes, Continued],
        response: AggregationJobResp,
    ) -> list[Counted]:
        """What the helper's answer lets the leader count: nothing at all if it is not an answer to what was asked."""
        answers = response.verify_resps
        if [one.report_id for one in answers] != [one.report_id for one in asked] or any(
            one.verify_resp_type == VerifyRespType.FINISH for one in answers
        ):
            return []
        counted = []
        for about, answer in zip(asked, answers, strict=True):
            if answer.verify_resp_type != VerifyRespType.CONTINUE:
                continue
            try:
                share = leader_continued(agreement.prio3, states[about.report_id].verify_state, answer.payload)
            except (InvalidReportError, KeyError):
                about_it = {"task": agreement.task.name, "report": encode_id(about.report_id), "side": "leader"}
                _log.warning("a report was rejected after the other side counted it", extra={"fields": about_it})
            else:
                counted.append(Counted(about.report_id, about.time, share))
        return counted


def _request(reports: Sequence[Report], states: dict[bytes, Continued]) -> AggregationJobInitReq:
    chosen: dict[bytes, VerifyInit] = {}
    for one in reports:
        state = states.get(one.report_metadata.report_id)
        if state is not None:
            share = ReportShare(one.report_metadata, one.public_share, one.helper_encrypted_input_share)
            chosen.setdefault(one.report_metadata.report_id, VerifyInit(share, state.outbound))
    return AggregationJobInitReq(0, b"", (), tuple(chosen.values()))


def _fits(sealed: HpkeCiphertext, size: int) -> bool:
    """Whether a ciphertext has the one length that an input share without extensions has."""
    return len(sealed.enc) == _ENC_SIZE and len(sealed.payload) == _PLAIN_HEAD + size + _SEAL_SIZE


def _delete(peer: Peer, location: str) -> None:
    """Tell the helper that its answer has arrived, if it listens; it forgets the answer anyway, in time."""
    try:
        peer.delete(location)
    except PeerError:
        return
