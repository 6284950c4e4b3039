"""Releases: only secure noise makes them, they travel as compact bytes, and damaged bytes are refused."""

import copy
import math
import pickle
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_privacy_guarantee import example, guarantees

from discreet.errors import DiscreetError
from discreet.privacy.mechanisms import AnalyticGaussian, FloatNoise, Laplace, TopicCounts
from discreet.privacy.noise import Noise, SecureNoise, SimulatedNoise
from discreet.privacy.release import FloatPayload, LatticePayload, Release, SimulatedRelease, seal
from discreet.privacy.release_format import decode, encode

INTEGERS = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-200, 200), max_size=40)


def release(integers=(1, -2, 300), step=0.25, guarantee=None):
    payload = LatticePayload(np.array(integers, np.int64), step)
    return seal(payload, guarantee or example(), SecureNoise())


@given(INTEGERS, st.floats(1e-300, 1e300), guarantees())
def test_round_trip(integers, step, guarantee):
    sent = release(integers, step, guarantee)
    received = Release.from_bytes(sent.to_bytes())
    assert received == sent
    assert received.guarantee == guarantee
    assert received.payload.integers.tolist() == integers
    assert received.payload.step == step


def test_a_release_can_be_copied_and_passed_between_processes():
    assert pickle.loads(pickle.dumps(release())) == release()
    assert copy.deepcopy(release()) == release()


def test_values_are_integers_times_step():
    assert release().values.tolist() == [0.25, -0.5, 75.0]


def test_a_serving_sized_release_is_small():
    mechanism = TopicCounts(epsilon=1.0, topics=12)
    sent = mechanism.release(np.arange(20) % 12, SecureNoise())
    assert len(sent.to_bytes()) < 120


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_refused(data):
    with pytest.raises(DiscreetError):
        Release.from_bytes(data)


def test_every_truncation_and_extension_is_refused():
    data = release().to_bytes()
    for length in range(len(data)):
        with pytest.raises(DiscreetError):
            Release.from_bytes(data[:length])
    with pytest.raises(DiscreetError, match="damaged"):
        Release.from_bytes(data + b"\x00")


@given(st.data())
@settings(max_examples=200)
def test_every_flipped_bit_is_refused(data):
    intact = bytearray(release().to_bytes())
    bit = data.draw(st.integers(0, 8 * len(intact) - 1))
    intact[bit // 8] ^= 1 << bit % 8
    with pytest.raises(DiscreetError):
        Release.from_bytes(bytes(intact))


def forged(data, offset, part):
    """`data` with `part` at `offset` and a checksum that fits, as somebody might make it on purpose."""
    body = data[:offset] + part + data[offset + len(part) : -4]
    return body + struct.pack("<I", zlib.crc32(body))


@pytest.mark.parametrize(
    ("offset", "part"),
    [
        (3, b"\xff"),
        (8, struct.pack("<d", -1.0)),
        (8, struct.pack("<d", math.nan)),
        (16, struct.pack("<d", 2.0)),
        (24, struct.pack("<d", 1.0)),
        (35, b"\xff"),
        (35 + 7, struct.pack("<d", 0.0)),
        (35 + 7, struct.pack("<d", math.inf)),
        (35 + 7 + 8, b"\x03"),
        (35 + 7 + 9, struct.pack("<I", 2**32 - 1)),
    ],
)
def test_fields_that_make_no_sense_are_refused(offset, part):
    with pytest.raises(DiscreetError, match="damaged"):
        Release.from_bytes(forged(release().to_bytes(), offset, part))


def test_a_forged_field_that_makes_sense_is_read():
    changed = forged(release().to_bytes(), 8, struct.pack("<d", 2.0))
    assert Release.from_bytes(changed).guarantee.epsilon == 2.0


def test_later_formats_are_named():
    data = bytearray(release().to_bytes())
    data[2] = 9
    with pytest.raises(DiscreetError, match="format 9 is not known"):
        Release.from_bytes(bytes(data))


def test_the_format_is_pinned():
    data = encode(np.array([1, -2], np.int64), 0.5, example())
    assert data[:3] == b"Dr\x01"
    assert data[35:42] == b"example"
    assert decode(data)[0].tolist() == [1, -2]
    assert len(data) == 35 + 7 + 13 + 2 + 4


def test_simulated_noise_makes_something_that_cannot_be_sent():
    mechanism = TopicCounts(epsilon=1.0, topics=2)
    simulated = mechanism.release([0, 1], SimulatedNoise(1))
    assert type(simulated) is SimulatedRelease
    assert not isinstance(simulated, Release)
    assert not hasattr(simulated, "to_bytes")
    assert type(mechanism.release([0, 1], SecureNoise())) is Release


def test_a_release_cannot_be_made_by_hand_or_changed():
    payload = LatticePayload(np.array([1], np.int64))
    with pytest.raises(TypeError, match="SecureNoise"):
        Release(payload, example())
    with pytest.raises(AttributeError, match="cannot be changed"):
        release().guarantee = example(epsilon=0.1)


def test_other_noise_makes_no_release():
    class Predictable(Noise):
        def random_bytes(self, count):
            return bytes(count)

    with pytest.raises(TypeError, match="only SecureNoise"):
        seal(LatticePayload(np.array([1], np.int64)), example(), Predictable())


def test_secure_noise_cannot_be_made_predictable():
    with pytest.raises(TypeError, match="no subclasses"):
        type("Seeded", (SecureNoise,), {"random_bytes": lambda self, count: bytes(count)})
    with pytest.raises(TypeError):
        SecureNoise(seed=1)
    with pytest.raises(AttributeError):
        SecureNoise().random_bytes = bytes
    with pytest.raises(AttributeError):
        SecureNoise().below = lambda bound: 0


def test_floats_cannot_be_released():
    with pytest.raises(TypeError, match="lattice"):
        seal(FloatPayload(np.array([1.0])), example(), SecureNoise())


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(1.0, 1.0),
        AnalyticGaussian(1.0, 1e-5, 1.0),
        FloatNoise(epsilon=1.0, noise_sensitivity=1.0),
        FloatNoise(epsilon=1.0, noise_sensitivity=1.0, delta=1e-5),
    ],
)
def test_mechanisms_with_float_noise_refuse_secure_noise(mechanism):
    with pytest.raises(TypeError, match="simulation only"):
        mechanism.release([0.0], SecureNoise())
    assert mechanism.release([0.0], SimulatedNoise(1)).values.shape == (1,)


def test_what_a_release_carries_cannot_be_changed():
    raw = np.array([1, 2], np.int64)
    sent = seal(LatticePayload(raw, 1.0), example(), SecureNoise())
    raw[:] = 7
    for one in (sent, Release.from_bytes(sent.to_bytes())):
        with pytest.raises(ValueError, match="read-only"):
            one.payload.integers[:] = 7
        assert one.values.tolist() == [1.0, 2.0]
