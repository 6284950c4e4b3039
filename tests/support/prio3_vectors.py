"""Makes the project's own Prio3 test vectors, in VDAF's JSON form, from fixed randomness.

They keep Python as it is and bind the browser to it; that Python is right is for the draft's own vectors to say.
Write them anew with: python tests/support/prio3_vectors.py tests/aggregation/vectors
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from discreet.aggregation.prio3 import NONCE_SIZE, VERIFY_KEY_SIZE, InvalidReportError, Prio3

CTX = b"discreet's own vectors"


def fixed(label: str, size: int) -> bytes:
    return hashlib.shake_128(label.encode()).digest(size)


def parameters(prio3: Prio3) -> dict[str, int]:
    names = ("length", "max_measurement", "max_weight", "chunk_length")
    given = {name: getattr(prio3.circuit, name) for name in names if name in vars(prio3.circuit)}
    return {"shares": prio3.shares, **given}


def operation(name: str, success: bool = True, **arguments: int) -> dict[str, Any]:
    return {"operation": name, "success": success, **arguments}


def good(name: str, prio3: Prio3, measurements: list[Any]) -> dict[str, Any]:
    """A vector of every operation on these measurements."""
    key = fixed(f"{name} key", VERIFY_KEY_SIZE)
    reports, operations = [], []
    outs: list[list[Any]] = [[] for _ in range(prio3.shares)]
    for index, measurement in enumerate(measurements):
        nonce, rand = fixed(f"{name} nonce {index}", NONCE_SIZE), fixed(f"{name} rand {index}", prio3.rand_size)
        public, inputs = prio3.shard(CTX, measurement, nonce, rand)
        first = [prio3.verify_init(key, CTX, agg, nonce, public, share) for agg, share in enumerate(inputs)]
        message = prio3.verifier_shares_to_message(CTX, [share for _, share in first])
        for agg, (state, _) in enumerate(first):
            outs[agg].append(prio3.verify_next(state, message))
        reports.append(
            {
                "measurement": measurement,
                "nonce": nonce.hex(),
                "rand": rand.hex(),
                "public_share": public.hex(),
                "input_shares": [share.hex() for share in inputs],
                "verifier_shares": [[share.hex() for _, share in first]],
                "verifier_messages": [message.hex()],
                "out_shares": [prio3.encode_agg_share(out[-1]).hex() for out in outs],
            }
        )
        operations += [operation("shard", report_index=index)]
        operations += [operation("verify_init", report_index=index, aggregator_id=agg) for agg in range(prio3.shares)]
        operations += [operation("verifier_shares_to_message", report_index=index, round=0)]
        for agg in range(prio3.shares):
            operations.append(operation("verify_next", report_index=index, aggregator_id=agg, round=1))
    shares = [prio3.merge(out) for out in outs]
    operations += [operation("aggregate", aggregator_id=agg) for agg in range(prio3.shares)]
    return {
        "ctx": CTX.hex(),
        "verify_key": key.hex(),
        "agg_param": "",
        **parameters(prio3),
        "reports": reports,
        "agg_shares": [prio3.encode_agg_share(share).hex() for share in shares],
        "agg_result": prio3.unshard(shares, len(measurements)),
        "operations": [*operations, operation("unshard")],
    }


def spoiled(vector: dict[str, Any], prio3: Prio3, share: int, place: int) -> dict[str, Any]:
    """The vector's first report with a changed byte: at `place` of an input share, or of the public share (−1)."""
    report = dict(vector["reports"][0])
    messages = [report["public_share"], *report["input_shares"]]
    message = bytearray.fromhex(messages[share + 1])
    message[place] ^= 1
    messages[share + 1] = message.hex()
    report |= {"public_share": messages[0], "input_shares": messages[1:], "verifier_messages": [], "out_shares": []}
    public, *inputs = map(bytes.fromhex, messages)
    key, nonce = bytes.fromhex(vector["verify_key"]), bytes.fromhex(report["nonce"])
    shares = [prio3.verify_init(key, CTX, agg, nonce, public, share)[1] for agg, share in enumerate(inputs)]
    try:
        prio3.verifier_shares_to_message(CTX, shares)
    except InvalidReportError:
        report |= {"verifier_shares": [[share.hex() for share in shares]]}
    else:
        raise AssertionError("a spoiled report came through")
    first = [operation("verify_init", report_index=0, aggregator_id=agg) for agg in range(prio3.shares)]
    last = operation("verifier_shares_to_message", success=False, report_index=0, round=0)
    return vector | {"reports": [report], "agg_shares": [], "agg_result": None, "operations": [*first, last]}


def refused(vector: dict[str, Any], step: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The vector's first report with other messages, at which one step must fail."""
    report = vector["reports"][0] | changes
    return vector | {"reports": [report], "agg_shares": [], "agg_result": None, "operations": [step]}


def all_vectors() -> dict[str, dict[str, Any]]:
    """Every vector by its file's name."""
    instances = {
        "Prio3Count_0": (Prio3.count(), [1, 0, 1]),
        "Prio3Count_1": (Prio3.count(4), [1, 1]),
        "Prio3Sum_0": (Prio3.sum(100), [0, 63, 64, 100]),
        "Prio3Sum_1": (Prio3.sum(2**40 + 3, 3), [2**40 + 3, 12345]),
        "Prio3Sum_2": (Prio3.sum(1), [1, 0]),
        "Prio3SumVec_0": (Prio3.sum_vec(5, 6, 4), [[0, 1, 2, 3, 6], [6, 6, 6, 6, 6]]),
        "Prio3SumVec_1": (Prio3.sum_vec(2, 1, 3, 5), [[0, 1], [1, 1]]),
        "Prio3SumVecWithMultiproof_0": (Prio3.sum_vec_with_multiproof(3, 255, 5, 3, 4), [[255, 0, 1], [9, 8, 7]]),
        "Prio3Histogram_0": (Prio3.histogram(7, 3), [0, 6, 6]),
        "Prio3Histogram_1": (Prio3.histogram(40, 6, 3), [17]),
        "Prio3MultihotCountVec_0": (Prio3.multihot_count_vec(6, 3, 2), [[True, False, True, False, False, True]]),
        "Prio3MultihotCountVec_1": (Prio3.multihot_count_vec(3, 3, 8, 3), [[True] * 3, [False] * 3]),
        "Prio3HigherDegree_0": (Prio3.higher_degree(3), [2, 1]),
    }
    vectors = {name: good(name, *instance) for name, instance in instances.items()}
    (count, _), (histogram, _) = instances["Prio3Count_0"], instances["Prio3Histogram_0"]
    vectors["Prio3Count_bad_wire"] = spoiled(vectors["Prio3Count_0"], count, 0, 8)
    vectors["Prio3Histogram_bad_part"] = spoiled(vectors["Prio3Histogram_0"], histogram, -1, 40)
    vectors["Prio3Histogram_bad_proof"] = spoiled(vectors["Prio3Histogram_0"], histogram, 0, 7 * 16 + 5)
    leader = operation("verify_init", success=False, report_index=0, aggregator_id=0)
    whole = vectors["Prio3Count_0"]["reports"][0]["input_shares"]
    vectors["Prio3Count_bad_element"] = refused(
        vectors["Prio3Count_0"], leader, input_shares=["f" * 16 + whole[0][16:], whole[1]]
    )
    vectors["Prio3Count_bad_size"] = refused(vectors["Prio3Count_0"], leader, input_shares=[whole[0] + "00", whole[1]])
    vectors["Prio3Sum_bad_measurement"] = refused(
        vectors["Prio3Sum_0"], operation("shard", success=False, report_index=0), measurement=101
    )
    return vectors


if __name__ == "__main__":
    for name, vector in all_vectors().items():
        text = json.dumps(vector, indent=1, sort_keys=True) + "\n"
        (Path(sys.argv[1]) / f"{name}.json").write_text(text, encoding="utf-8")
