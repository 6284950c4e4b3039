"""HPKE against another implementation, and what must not open."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.aggregation.dap.hpke import (
    DecryptError,
    aggregate_share_info,
    generate_key,
    input_share_info,
    seal,
    supported_config,
    unseal,
    vdaf_context,
)
from discreet.aggregation.dap.messages import HpkeCiphertext, HpkeConfig, HpkeConfigList, Role
from discreet.errors import DiscreetError

KEY = generate_key(7)


def test_as_another_implementation() -> None:
    """The cryptography package's own HPKE, which has no additional data."""
    peer = pytest.importorskip("cryptography.hazmat.primitives.hpke", reason="this cryptography has no HPKE")
    suite = peer.Suite(peer.KEM.X25519, peer.KDF.HKDF_SHA256, peer.AEAD.AES_128_GCM)
    sealed = seal(KEY.config, b"info", b"", b"text")
    private = X25519PrivateKey.from_private_bytes(KEY.private_key)
    assert suite.decrypt(sealed.enc + sealed.payload, private, b"info") == b"text"
    theirs = suite.encrypt(b"answer", X25519PublicKey.from_public_bytes(KEY.config.public_key), b"info")
    assert unseal(KEY, b"info", b"", HpkeCiphertext(7, theirs[:32], theirs[32:])) == b"answer"


@settings(deadline=None, max_examples=50)
@given(info=st.binary(max_size=40), aad=st.binary(max_size=200), text=st.binary(max_size=200), data=st.data())
def test_only_what_was_sealed_opens(info: bytes, aad: bytes, text: bytes, data: st.DataObject) -> None:
    sealed = seal(KEY.config, info, aad, text)
    assert sealed.config_id == 7
    assert unseal(KEY, info, aad, sealed) == text

    def spoiled(content: bytes) -> bytes:
        place = data.draw(st.integers(0, len(content) - 1))
        return content[:place] + bytes([content[place] ^ data.draw(st.integers(1, 127))]) + content[place + 1 :]

    for key, words, more, ciphertext in (
        (generate_key(7), info, aad, sealed),
        (KEY, info + b"x", aad, sealed),
        (KEY, info, aad + b"x", sealed),
        (KEY, info, aad, HpkeCiphertext(7, sealed.enc, spoiled(sealed.payload))),
        (KEY, info, aad, HpkeCiphertext(7, data.draw(st.binary(min_size=1, max_size=40)), sealed.payload)),
        (KEY, info, aad, HpkeCiphertext(7, bytes(32), sealed.payload)),
        (KEY, info, aad, HpkeCiphertext(7, sealed.enc, sealed.payload[:8])),
    ):
        with pytest.raises(DecryptError) as caught:
            unseal(key, words, more, ciphertext)
        assert str(caught.value) == "the ciphertext cannot be opened"


def test_the_first_configuration_that_is_understood() -> None:
    other = HpkeConfig(1, 0x10, 1, 1, b"\4" * 65)
    short = HpkeConfig(2, 0x20, 1, 1, bytes(31))
    assert supported_config(HpkeConfigList((other, short, KEY.config))) == KEY.config
    for configs in ((other,), (short,)):
        with pytest.raises(DiscreetError, match="no HPKE configuration"):
            supported_config(HpkeConfigList(configs))
        with pytest.raises(DiscreetError, match="no HPKE configuration"):
            seal(configs[0], b"", b"", b"")


def test_a_public_key_of_small_order_is_refused() -> None:
    with pytest.raises(DiscreetError, match="cannot be used"):
        seal(HpkeConfig(3, 0x20, 1, 1, bytes(32)), b"", b"", b"text")


def test_the_private_key_is_not_shown() -> None:
    assert KEY.private_key.hex() not in repr(KEY)
    assert repr(KEY.private_key) not in repr(KEY)


def test_labels() -> None:
    assert input_share_info(Role.LEADER) == b"dap-18 input share\x01\x02"
    assert aggregate_share_info(Role.HELPER) == b"dap-18 aggregate share\x03\x00"
    assert vdaf_context(b"t" * 32) == b"dap-18" + b"t" * 32
