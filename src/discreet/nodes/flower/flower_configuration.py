"""What Flower adds to the folder of a deployment: keys for its own node authentication, and certificates.

FOLDER/node-2/flower.key, .pub  the node's key for Flower
FOLDER/tls/                     certificates for the SuperLink, if it has any
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ec import SECP384R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from discreet.files import creating_folder
from discreet.nodes.configuration import Noise, write_nodes, write_secret


def write_deployment(
    folder: Path,
    data: Path,
    nodes: int,
    *,
    max_epsilon: float = 10.0,
    noise: Noise = "secure",
    plugins: Sequence[str] = (),
    tls: bool = False,
) -> None:
    """Write a whole deployment for trying out: node k of N hosts part k/N of the data.

    Raises:
        DiscreetError: if the folder is not empty, or there are fewer than two nodes.
    """
    from discreet.nodes.flower.certificates import write_certificates

    with creating_folder(folder) as draft:
        for node in write_nodes(draft, data, nodes, max_epsilon=max_epsilon, noise=noise, plugins=plugins).values():
            write_keys(node)
        if tls:
            write_certificates(draft / "tls", ["localhost", "127.0.0.1"])


def write_keys(node: Path) -> None:
    """Write a node's key pair for Flower into its folder."""
    key = generate_private_key(SECP384R1())
    write_secret(node / "flower.key", key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    (node / "flower.pub").write_bytes(public + b"\n")
