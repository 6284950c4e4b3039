"""DAP's messages: what is written is read again, and nothing else is read."""

from __future__ import annotations

import dataclasses
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.aggregation.dap import messages as dap
from discreet.aggregation.dap.vdaf import prio3_of, vdaf_configuration
from discreet.aggregation.dap.wire import Choice, Fixed, Message, MessageError, Nested, Opaque, Rest, Uint, Vector
from discreet.aggregation.prio3 import Prio3
from discreet.errors import DiscreetError

KINDS = [
    kind for kind in vars(dap).values() if isinstance(kind, type) and issubclass(kind, Message) and kind is not Message
]


def values(codec: Any) -> st.SearchStrategy[Any]:
    match codec:
        case Uint():
            return st.integers(0, 256**codec.size - 1)
        case Choice():
            return st.sampled_from(codec.kinds)
        case Fixed():
            return st.binary(min_size=codec.size, max_size=codec.size)
        case Opaque():
            return st.binary(min_size=codec.minimum, max_size=40)
        case Nested():
            return whole(codec.kind)
        case Rest() | Vector():
            least = 1 if isinstance(codec, Vector) and codec.minimum else 0
            unique = (lambda config: config.id) if codec.kind is dap.HpkeConfig else None
            lists = st.lists(whole(codec.kind), min_size=least, max_size=3, unique_by=unique)
            return lists.map(tuple)
    raise AssertionError(codec)


def whole(kind: type[Message]) -> st.SearchStrategy[Any]:
    if kind is dap.VerifyResp:
        ids = st.binary(min_size=16, max_size=16)
        return st.one_of(
            st.builds(dap.VerifyResp, ids, st.just(dap.VerifyRespType.CONTINUE), st.binary(min_size=1, max_size=40)),
            st.builds(dap.VerifyResp, ids, st.just(dap.VerifyRespType.FINISH)),
            st.builds(
                lambda report_id, error: dap.VerifyResp(report_id, dap.VerifyRespType.REJECT, report_error=error),
                ids,
                st.sampled_from(dap.ReportError),
            ),
        )
    return st.builds(kind, **{field.name: values(field.metadata["codec"]) for field in dataclasses.fields(kind)})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_what_is_written_is_read_again(kind: type[Message], data: st.DataObject) -> None:
    message = data.draw(whole(kind))
    assert kind.decode(message.encode()) == message


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_other_bytes_are_refused_or_mean_themselves(kind: type[Message], data: st.DataObject) -> None:
    """Cut, lengthened, changed or made up: one line of refusal, or a message that has just these bytes."""
    encoded = data.draw(whole(kind)).encode()
    place = data.draw(st.integers(0, len(encoded)))
    tampered = data.draw(
        st.one_of(
            st.just(encoded[:place]),
            st.binary(min_size=1, max_size=20).map(lambda more: encoded[:place] + more + encoded[place:]),
            st.integers(1, 255).map(
                lambda mask: (
                    encoded[:place] + bytes(byte ^ mask for byte in encoded[place : place + 1]) + encoded[place + 1 :]
                )
            ),
            st.binary(max_size=200),
        )
    )
    try:
        message = kind.decode(tampered)
    except MessageError as error:
        problem = str(error)
    else:
        assert message.encode() == tampered
        return
    assert "\n" not in problem
    assert kind.__name__ in problem


def test_the_drafts_form_byte_by_byte() -> None:
    metadata = dap.ReportMetadata(bytes(range(16)), 0x0102, (dap.Extension(7, b"ab"),))
    expected = bytes(range(16)) + bytes.fromhex("0000000000000102000600070002") + b"ab"
    assert metadata.encode() == expected
    sealed = dap.HpkeCiphertext(9, b"key", b"text")
    assert sealed.encode() == b"\x09\x00\x03key\x00\x00\x00\x04text"
    report = dap.Report(metadata, b"p", sealed, sealed)
    assert report.encode() == expected + b"\x00\x00\x00\x01p" + sealed.encode() * 2
    assert dap.UploadRequest((report, report)).encode() == report.encode() * 2
    assert dap.UploadRequest.decode(b"").reports == ()
    answer = dap.VerifyResp(bytes(16), dap.VerifyRespType.REJECT, report_error=dap.ReportError.VDAF_VERIFY_ERROR)
    assert answer.encode() == bytes(16) + b"\x02\x06"
    assert dap.VerifyResp(bytes(16), dap.VerifyRespType.FINISH).encode() == bytes(16) + b"\x01"
    share = dap.ReportShare(metadata, b"", sealed)
    request = dap.AggregationJobInitReq(3, b"", (), (dap.VerifyInit(share, b"go"),))
    assert request.encode() == b"\x03" + bytes(4) + bytes(2) + share.encode() + b"\x00\x00\x00\x02go"
    query = dap.CollectionJobReq(dap.Query(dap.BatchMode.TIME_INTERVAL, dap.Interval(5, 2).encode()), b"", ())
    assert query.encode() == b"\x01\x00\x10" + (5).to_bytes(8, "big") + (2).to_bytes(8, "big") + bytes(4) + bytes(2)
    assert dap.media_type(dap.UploadRequest) == "application/ppm-dap;message=upload-req"


def test_values_that_a_message_cannot_hold() -> None:
    for message in (
        dap.HpkeCiphertext(256, b"key", b"text"),
        dap.HpkeCiphertext(1, b"", b"text"),
        dap.Interval(-1, 1),
        dap.VerifyContinue(bytes(15), b"x"),
        dap.Extension(1, bytes(2**16)),
        dap.HpkeConfigList(()),
        dap.Query(99, b""),  # type: ignore[arg-type]
    ):
        with pytest.raises(MessageError):
            message.encode()


def test_configurations_have_distinct_identifiers() -> None:
    twice = dap.HpkeConfigList((dap.HpkeConfig(1, 32, 1, 1, bytes(32)),) * 2).encode()
    with pytest.raises(MessageError, match="one identifier"):
        dap.HpkeConfigList.decode(twice)


def test_unknown_numbers_of_enumerations() -> None:
    with pytest.raises(MessageError, match="250 is no ReportError"):
        dap.ReportUploadStatus.decode(bytes(16) + b"\xfa")
    kinds: list[type[IntEnum]] = [dap.Role, dap.BatchMode, dap.VerifyRespType, dap.ReportError]
    assert [len(kind) for kind in kinds] == [4, 3, 3, 12]


def test_extensions_in_order() -> None:
    def of(*types: int) -> bool:
        return dap.strictly_increasing([dap.Extension(number, b"") for number in types])

    assert of()
    assert of(1, 2, 9)
    assert not of(1, 1)
    assert not of(2, 1)


def test_an_interval_is_half_open() -> None:
    interval = dap.Interval(10, 3)
    assert [time in interval for time in (9, 10, 12, 13)] == [False, True, True, False]


@pytest.mark.parametrize(
    ("prio3", "encoded"),
    [
        (Prio3.count(), ""),
        (Prio3.sum(255), "00000000000000ff"),
        (Prio3.sum_vec(10, 3, 4), "0000000a000000000000000300000004"),
        (Prio3.histogram(1000, 33), "000003e800000021"),
        (Prio3.multihot_count_vec(9, 2, 3), "00000009000000030000000000000002"),
    ],
    ids=lambda value: type(value.circuit).__name__ if isinstance(value, Prio3) else "",
)
def test_vdaf_configurations(prio3: Prio3, encoded: str) -> None:
    assert vdaf_configuration(prio3) == bytes.fromhex(encoded)
    assert prio3_of(prio3.algorithm, bytes.fromhex(encoded)) == prio3
    with pytest.raises(DiscreetError):
        prio3_of(prio3.algorithm, bytes.fromhex(encoded) + b"\0")


def test_vdafs_that_no_task_can_have() -> None:
    with pytest.raises(DiscreetError, match="two aggregators"):
        vdaf_configuration(Prio3.count(3))
    with pytest.raises(DiscreetError, match="two aggregators"):
        vdaf_configuration(Prio3.sum_vec_with_multiproof(1, 1, 1))
    with pytest.raises(MessageError, match="not known"):
        prio3_of(6, b"\0\x08")
    with pytest.raises(DiscreetError, match="length"):
        prio3_of(4, bytes(8))
