"""HPKE (RFC 9180) in base mode, with the one cipher suite that DAP demands of everybody."""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from pyhpke import AEADId, CipherSuite, KDFId, KEMId

from discreet.aggregation.dap.messages import HpkeCiphertext, HpkeConfig, HpkeConfigList, Role
from discreet.errors import DiscreetError
from discreet.protocol import versions

_KEM, _KDF, _AEAD = KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId.AES128_GCM
_KEY_SIZE = 32
_VERSION = f"dap-{versions.DAP}".encode()


class DecryptError(DiscreetError):
    """A ciphertext that was not sealed to this key, with these words and this additional data."""


@dataclass(frozen=True)
class HpkeKey:
    """A key pair, with the configuration under which others know it."""

    config: HpkeConfig
    private_key: bytes = field(repr=False)


def generate_key(config_id: int) -> HpkeKey:
    """A new key pair."""
    private = X25519PrivateKey.generate()
    public = private.public_key().public_bytes_raw()
    config = HpkeConfig(config_id, _KEM.value, _KDF.value, _AEAD.value, public)
    return HpkeKey(config, private.private_bytes_raw())


def supported_config(configs: HpkeConfigList) -> HpkeConfig:
    """The first configuration that can be used here."""
    for config in configs.configs:
        suite = config.kem_id, config.kdf_id, config.aead_id
        if suite == (_KEM.value, _KDF.value, _AEAD.value) and len(config.public_key) == _KEY_SIZE:
            return config
    raise DiscreetError("no HPKE configuration of the server has X25519, HKDF-SHA256 and AES-128-GCM")


def seal(config: HpkeConfig, info: bytes, aad: bytes, plaintext: bytes) -> HpkeCiphertext:
    """What only the holder of the private key can read, and only with the same `info` and `aad`."""
    suite = _suite(config)
    try:
        public_key = suite.kem.deserialize_public_key(config.public_key)
        enc, context = suite.create_sender_context(public_key, info)
        return HpkeCiphertext(config.id, enc, context.seal(plaintext, aad))
    except Exception:  # a key that is no point, or one of small order
        raise DiscreetError(f"the public key of HPKE configuration {config.id} cannot be used") from None


def unseal(key: HpkeKey, info: bytes, aad: bytes, ciphertext: HpkeCiphertext) -> bytes:
    """What was sealed; every failure is one error, which does not say what failed."""
    suite = _suite(key.config)
    try:
        private_key = suite.kem.deserialize_private_key(key.private_key)
        return suite.create_recipient_context(ciphertext.enc, private_key, info).open(ciphertext.payload, aad)
    except Exception:  # of several kinds, by where the library stumbles over hostile bytes
        raise DecryptError("the ciphertext cannot be opened") from None


def vdaf_context(task_id: bytes) -> bytes:
    """The application context of a task's VDAF."""
    return _VERSION + task_id


def input_share_info(recipient: Role) -> bytes:
    """What binds an input share to its use, from the client to an aggregator."""
    return _VERSION + b" input share" + bytes([Role.CLIENT, recipient])


def aggregate_share_info(sender: Role) -> bytes:
    """What binds an aggregate share to its use, from an aggregator to the collector."""
    return _VERSION + b" aggregate share" + bytes([sender, Role.COLLECTOR])


def _suite(config: HpkeConfig) -> CipherSuite:
    supported_config(HpkeConfigList((config,)))
    return CipherSuite.new(_KEM, _KDF, _AEAD)
