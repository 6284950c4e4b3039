"""Shares under seal: an aggregator opens input shares of its own, and seals its aggregate share, with noise in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from discreet.aggregation.aggregator_noise import add_to_share, share_noise
from discreet.aggregation.dap.aggregator_store import MAX_SKEW_SECONDS, Words
from discreet.aggregation.dap.agreement import Agreement
from discreet.aggregation.dap.hpke import DecryptError, HpkeKey, aggregate_share_info, input_share_info, seal, unseal
from discreet.aggregation.dap.messages import (
    CollectionJobReq,
    HpkeCiphertext,
    HpkeConfigList,
    PlaintextInputShare,
    ReportError,
    ReportMetadata,
    Role,
)
from discreet.aggregation.dap.wire import MessageError
from discreet.aggregation.prio3 import VerifierInput
from discreet.errors import DiscreetError
from discreet.privacy.noise import Noise


class Sealing:
    """The keys of one aggregator.

    Args:
        role: Which of the two it is.
        keys: Its HPKE keys, the preferred first. Old ones stay until no device has them in its cache.
        noise: Where its noise comes from.
    """

    def __init__(
        self, role: Role, keys: Sequence[HpkeKey], noise: Noise, clock: Callable[[], float] = time.time
    ) -> None:
        self.role, self._noise, self.clock = role, noise, clock
        self.configs = HpkeConfigList(tuple(key.config for key in keys))
        self._keys = {key.config.id: key for key in keys}
        if not keys or len(self._keys) != len(keys):
            raise DiscreetError("an aggregator needs one or more HPKE keys, each with an id of its own")

    def knows(self, config_id: int) -> bool:
        """Whether there is a key of this id."""
        return config_id in self._keys

    def time_problem(self, agreement: Agreement, report_time: int) -> ReportError | None:
        """What is wrong with the time of a report, apart from what the database knows."""
        whole = agreement.interval
        if report_time < whole.start:
            return ReportError.TASK_NOT_STARTED
        if report_time not in whole:
            return ReportError.TASK_EXPIRED
        if report_time * agreement.task.window_seconds > self.clock() + MAX_SKEW_SECONDS:
            return ReportError.REPORT_TOO_EARLY
        return None

    def open(
        self, agreement: Agreement, metadata: ReportMetadata, public_share: bytes, ciphertext: HpkeCiphertext
    ) -> VerifierInput | ReportError:
        """An input share that may be verified, or what is wrong with it, apart from its time."""
        if metadata.public_extensions:  # none is known here
            return ReportError.INVALID_MESSAGE
        key = self._keys.get(ciphertext.config_id)
        if key is None:
            return ReportError.HPKE_DECRYPT_ERROR
        try:
            aad = agreement.input_share_aad(metadata, public_share)
            plain = PlaintextInputShare.decode(unseal(key, input_share_info(self.role), aad, ciphertext))
        except DecryptError:
            return ReportError.HPKE_DECRYPT_ERROR
        except MessageError:
            return ReportError.INVALID_MESSAGE
        if plain.private_extensions or not self._fits(agreement, public_share, plain.payload):
            return ReportError.INVALID_MESSAGE
        return VerifierInput(metadata.report_id, public_share, plain.payload)

    def seal(self, agreement: Agreement, request: CollectionJobReq, share: Words) -> HpkeCiphertext:
        """An aggregate share with fresh noise in it, for the collector. Keep what this gives: it is made once."""
        prio3 = agreement.prio3
        noised = add_to_share(prio3.circuit.field, share, share_noise(agreement.task, self._noise))
        aad, info = agreement.aggregate_share_aad(request), aggregate_share_info(self.role)
        return seal(agreement.collector, info, aad, prio3.encode_agg_share(noised))

    def _fits(self, agreement: Agreement, public_share: bytes, payload: bytes) -> bool:
        prio3, agg_id = agreement.prio3, 0 if self.role == Role.LEADER else 1
        return len(public_share) == prio3.public_share_size and len(payload) == prio3.input_share_size(agg_id)
