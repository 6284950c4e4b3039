"""VDAF's test vectors: read in their general JSON form, every operation done again and compared."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from discreet.aggregation.prio3.fields import FIELD64, FIELD128
from discreet.aggregation.prio3.prio3 import Prio3, VerifyState, Words
from discreet.aggregation.prio3.xof import SEED_SIZE, derive_seeds, expand_into_vecs
from discreet.errors import DiscreetError, InputError

_PARAMETERS = ("length", "max_measurement", "max_weight", "chunk_length", "shares")
_VARIANTS: dict[str, Callable[..., Prio3]] = {
    "Prio3Count": Prio3.count,
    "Prio3Sum": Prio3.sum,
    "Prio3SumVec": Prio3.sum_vec,
    "Prio3SumVecWithMultiproof": Prio3.sum_vec_with_multiproof,
    "Prio3Histogram": Prio3.histogram,
    "Prio3MultihotCountVec": Prio3.multihot_count_vec,
    "Prio3HigherDegree": Prio3.higher_degree,
}
_BY_PARAMETERS = {
    (): "Prio3Count",
    ("max_measurement",): "Prio3Sum",
    ("chunk_length", "length", "max_measurement"): "Prio3SumVec",
    ("chunk_length", "length"): "Prio3Histogram",
    ("chunk_length", "length", "max_weight"): "Prio3MultihotCountVec",
}


class _DifferenceError(DiscreetError):
    """An operation whose result is not the vector's."""


@dataclass(frozen=True)
class VectorCheck:
    """A test vector that holds."""

    path: Path
    variant: str
    operations: int


def check_vector(path: Path | str) -> VectorCheck:
    """Do every operation of a test vector again; an error at the first that does not go as the vector says.

    The file has the form of the draft's section "Test Vectors". It does not name its variant: that is the first part
    of the file's name, as in Prio3Sum_0.json, or else follows from the parameters. XofTurboShake128's file is read too.
    """
    path = Path(path)
    try:
        vector = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(path, error.strerror or "cannot be read") from None
    except ValueError:
        raise InputError(path, "this is not JSON") from None
    if not isinstance(vector, dict):
        raise InputError(path, "a test vector is a JSON object")
    try:
        if "derived_seed" in vector:
            return _check_xof(path, vector)
        variant = _variant(path, vector)
        run = _Run(_instance(variant, vector), vector)
        for number, operation in enumerate(vector["operations"]):
            try:
                run.check(operation)
            except _DifferenceError as error:
                who = " ".join(f"{key}={value}" for key, value in operation.items() if key != "operation")
                raise InputError(path, f"operation {number}, {operation['operation']} ({who}): {error}") from None
    except InputError:
        raise
    except DiscreetError as error:
        raise InputError(path, str(error)) from None
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise InputError(path, f"not a whole test vector: {type(error).__name__} {error}") from None
    return VectorCheck(path, variant, len(vector["operations"]))


def _variant(path: Path, vector: dict[str, Any]) -> str:
    named = re.match(r"[A-Za-z0-9]+", path.name)
    if named and named[0] in _VARIANTS:
        return named[0]
    if named and named[0].startswith(("Prio3", "Poplar", "Xof", "Idpf")):
        raise DiscreetError(f"{named[0]} is not among {', '.join(_VARIANTS)}")
    given = tuple(sorted(key for key in _PARAMETERS if key in vector and key != "shares"))
    if given not in _BY_PARAMETERS:
        raise DiscreetError(f"the parameters {', '.join(given)} are of no variant of Prio3")
    return _BY_PARAMETERS[given]


def _instance(variant: str, vector: dict[str, Any]) -> Prio3:
    parameters = {key: vector[key] for key in _PARAMETERS if key in vector}
    if variant == "Prio3SumVecWithMultiproof":
        return _multiproof(parameters, vector)
    return _VARIANTS[variant](**parameters)


def _multiproof(parameters: dict[str, Any], vector: dict[str, Any]) -> Prio3:
    """The field and the number of proofs are not in the file; the sizes of its messages tell them."""
    size = len(bytes.fromhex(vector["reports"][0]["input_shares"][0])) - SEED_SIZE
    for number_field in (FIELD64, FIELD128):
        circuit = Prio3.sum_vec_with_multiproof(**parameters, field=number_field).circuit
        proofs, rest = divmod(size // number_field.encoded_size - circuit.meas_len, circuit.proof_len)
        if rest == 0 and proofs >= 1 and proofs == vector.get("proofs", proofs):
            return Prio3.sum_vec_with_multiproof(**parameters, field=number_field, proofs=proofs)
    raise DiscreetError("the leader's input share has a size that fits no number of proofs")


@dataclass
class _Run:
    """Operations on one vector, with the states they leave."""

    prio3: Prio3
    vector: dict[str, Any]
    states: dict[tuple[int, int], VerifyState] = field(default_factory=dict)

    def check(self, operation: dict[str, Any]) -> None:
        """Do one operation; `success` says whether it gives the vector's values or fails."""
        names = ("shard", "verify_init", "verifier_shares_to_message", "verify_next", "aggregate", "unshard")
        if operation["operation"] not in names:
            raise _DifferenceError(f"operations are {', '.join(names)}")
        run = getattr(self, f"_{operation['operation']}")
        arguments = {key: operation[key] for key in ("report_index", "aggregator_id", "round") if key in operation}
        try:
            done, expected = run(**arguments)
        except _DifferenceError:
            raise
        except DiscreetError as error:
            if operation["success"]:
                raise _DifferenceError(f"should succeed, but: {error}") from None
            return
        if not operation["success"]:
            raise _DifferenceError("should fail, but succeeds")
        if done != expected():
            raise _DifferenceError("the result differs from the vector's")

    def _shard(self, report_index: int) -> tuple[Any, Callable[[], Any]]:
        report = self.vector["reports"][report_index]
        done = self.prio3.shard(self._ctx, report["measurement"], _bytes(report["nonce"]), _bytes(report["rand"]))
        return done, lambda: (_bytes(report["public_share"]), [_bytes(share) for share in report["input_shares"]])

    def _verify_init(self, report_index: int, aggregator_id: int, round: int = 0) -> tuple[Any, Callable[[], Any]]:  # noqa: A002
        report = self.vector["reports"][report_index]
        shares = _bytes(report["public_share"]), _bytes(report["input_shares"][aggregator_id])
        key = _bytes(self.vector["verify_key"])
        state, done = self.prio3.verify_init(key, self._ctx, aggregator_id, _bytes(report["nonce"]), *shares)
        self.states[report_index, aggregator_id] = state
        return done, lambda: _bytes(report["verifier_shares"][0][aggregator_id])

    def _verifier_shares_to_message(self, report_index: int, round: int = 0) -> tuple[Any, Callable[[], Any]]:  # noqa: A002
        report = self.vector["reports"][report_index]
        shares = [_bytes(share) for share in report["verifier_shares"][round]]
        done = self.prio3.verifier_shares_to_message(self._ctx, shares)
        return done, lambda: _bytes(report["verifier_messages"][round])

    def _verify_next(self, report_index: int, aggregator_id: int, round: int = 1) -> tuple[Any, Callable[[], Any]]:  # noqa: A002
        report = self.vector["reports"][report_index]
        state = self.states.get((report_index, aggregator_id))
        if state is None:
            raise _DifferenceError("there was no verify_init before that succeeded")
        done = self.prio3.verify_next(state, _bytes(report["verifier_messages"][round - 1]))
        return self.prio3.encode_agg_share(done), lambda: _bytes(report["out_shares"][aggregator_id])

    def _aggregate(self, aggregator_id: int) -> tuple[Any, Callable[[], Any]]:
        shares = [self._agg_share(report["out_shares"][aggregator_id]) for report in self._counted]
        done = self.prio3.encode_agg_share(self.prio3.merge(shares))
        return done, lambda: _bytes(self.vector["agg_shares"][aggregator_id])

    def _unshard(self) -> tuple[Any, Callable[[], Any]]:
        shares = [self._agg_share(share) for share in self.vector["agg_shares"]]
        return self.prio3.unshard(shares, len(self._counted)), lambda: self.vector["agg_result"]

    @property
    def _ctx(self) -> bytes:
        return _bytes(self.vector["ctx"])

    @property
    def _counted(self) -> list[dict[str, Any]]:
        """The reports that came through verification."""
        return [report for report in self.vector["reports"] if report["out_shares"]]

    def _agg_share(self, text: str | list[str]) -> Words:
        return self.prio3.decode_agg_share(_bytes(text))


def _bytes(text: str | list[str]) -> bytes:
    """Bytes from hexadecimal digits; a vector's elements may come one by one."""
    return bytes.fromhex(text if isinstance(text, str) else "".join(text))


def _check_xof(path: Path, vector: dict[str, Any]) -> VectorCheck:
    seed, binder = (np.frombuffer(_bytes(vector[key]), np.uint8)[None] for key in ("seed", "binder"))
    dst = _bytes(vector["dst"])
    if "Turbo" not in path.name:
        raise InputError(path, "of the XOFs only XofTurboShake128 is there")
    if derive_seeds(seed, dst, binder).tobytes() != _bytes(vector["derived_seed"]):
        raise InputError(path, "the derived seed differs from the vector's")
    expanded = expand_into_vecs(FIELD128, seed, dst, binder, length=vector["length"])
    if FIELD128.encode_vec(expanded) != _bytes(vector["expanded_vec_field128"]):
        raise InputError(path, "the expanded vector differs from the vector's")
    return VectorCheck(path, "XofTurboShake128", 2)
