"""The folder of a deployment: who takes part, and what each node needs to be one of them.

    FOLDER/roster.json              every node's number and public key, agreed among the nodes without the server
    FOLDER/helper.key.pub           the helper's public key, where sums are by two aggregators; not from the server
    FOLDER/node-2/node.json         which data the node hosts, and what its readers may be charged
    FOLDER/node-2/identity.key      its signing key (Ed25519): never leaves the node

On several machines each has its own such folder, with its own node and a copy of the roster. An engine adds what it
needs itself (`nodes.flower.flower_configuration`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.aggregation.dap.messages import HpkeConfig
from discreet.aggregation.secure_sum.encoding import MAX_ID
from discreet.aggregation.secure_sum.keys import PUBLIC_BYTES, Identity
from discreet.errors import DiscreetError, InputError
from discreet.files import replacing_file
from discreet.nodes.host_socket import MAX_PATH_LENGTH
from discreet.protocol.infinity import from_plain, to_plain

Noise = Literal["secure", "simulated"]
HELPER_KEY = "helper.key.pub"
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True)
class NodeSettings:
    """What a node's operator has decided.

    Attributes:
        folder: the node's folder; roster.json is next to it.
        number: the node's number in the roster.
        data: the data that it hosts.
        part: "2/4" for the second of four parts of the data, None for all of it.
        max_epsilon: the largest total ε that its readers may be charged; inf accepts methods without a guarantee.
        noise: from the operating system's secure source, or simulated from seeds, for experiments only.
        plugins: modules of other packages whose methods and models the node may run. It imports no others.
    """

    folder: Path
    number: int
    data: Path
    part: str | None = None
    max_epsilon: float = 10.0
    noise: Noise = "secure"
    plugins: tuple[str, ...] = ()

    @property
    def socket(self) -> Path:
        """Where the node's host listens: in its folder, or, if that path is too long, in one of the system's."""
        path = self.folder.resolve() / "host.sock"
        if len(os.fsencode(path)) <= MAX_PATH_LENGTH:
            return path
        short = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"discreet-{os.geteuid()}-{short}" / "host.sock"

    def helper(self) -> HpkeConfig | None:
        """The public key of the helper for sums by two aggregators, if there is one next to the roster."""
        from discreet.aggregation.dap.key_files import read_public_key

        path = self.folder.resolve().parent / HELPER_KEY
        return read_public_key(path) if path.exists() else None

    def part_of(self) -> tuple[int, int]:
        """Which part of how many: (2, 4) for "2/4", (1, 1) for all of it."""
        which, _, parts = (self.part or "1/1").partition("/")
        return int(which), int(parts)

    def identity(self) -> Identity:
        """The node's number and signing key.

        Raises:
            InputError: if the key is missing, malformed, or open to others.
        """
        path = self.folder / "identity.key"
        if path.exists() and path.stat().st_mode & 0o077:
            raise InputError(path, f"others can read this key; make it yours alone: chmod 600 {path}")
        try:
            key = bytes.fromhex(_text(path).strip())
            return Identity(self.number, Ed25519PrivateKey.from_private_bytes(key))
        except ValueError:
            raise InputError(path, "holds no signing key: 64 hexadecimal digits") from None

    def roster(self) -> dict[int, bytes]:
        """The roster, which is next to the node's folder.

        Raises:
            InputError: if it cannot be used, or does not have this node with its key.
        """
        path = self.folder.resolve().parent / "roster.json"
        roster = read_roster(path)
        if roster.get(self.number) != self.identity().public:
            raise InputError(path, f"does not have node {self.number} with the key in {self.folder / 'identity.key'}")
        return roster


def write_nodes(
    folder: Path,
    data: Path,
    nodes: int,
    *,
    max_epsilon: float = 10.0,
    noise: Noise = "secure",
    plugins: Sequence[str] = (),
) -> dict[int, Path]:
    """Write the nodes and the roster of a trial into a folder: node k of N hosts part k/N of the data.

    Returns:
        The folder of each node.

    Raises:
        DiscreetError: if there are fewer than two nodes.
    """
    if nodes < 2:
        raise DiscreetError(f"a deployment has at least 2 nodes, not {nodes}: the sum of one would show its data")
    folders = {number: folder / f"node-{number}" for number in range(1, nodes + 1)}
    conditions: dict[str, Any] = {"max_epsilon": max_epsilon, "noise": noise, "plugins": tuple(plugins)}
    roster = {
        number: write_node(NodeSettings(own, number, data.resolve(), f"{number}/{nodes}", **conditions))
        for number, own in folders.items()
    }
    write_roster(folder / "roster.json", roster)
    return folders


def write_node(settings: NodeSettings) -> bytes:
    """Write a node's folder with new keys; returns its public key, for the roster.

    Raises:
        DiscreetError: if the node is there already.
    """
    folder = settings.folder
    if folder.exists():
        raise DiscreetError(f"{folder}: is there already; a node's keys are not replaced")
    folder.mkdir(mode=0o700, parents=True)
    identity = Identity.generate(settings.number)
    write_secret(folder / "identity.key", identity.key.private_bytes_raw().hex().encode() + b"\n")
    said = {
        "number": settings.number,
        "data": str(settings.data),
        "part": settings.part,
        "max_epsilon": to_plain(settings.max_epsilon),
        "noise": settings.noise,
        "plugins": list(settings.plugins),
    }
    _write_json(folder / "node.json", said)
    return identity.public


def read_node(folder: Path) -> NodeSettings:
    """A node's settings, from its folder.

    Raises:
        InputError: if they cannot be used.
    """
    path = folder / "node.json"
    said = _read_object(path)
    if "most_epsilon" in said:  # its name before version 0.2
        said["max_epsilon"] = said.pop("most_epsilon")
    said.setdefault("plugins", [])  # older files do not have it
    required = {"number", "data", "part", "max_epsilon", "noise", "plugins"}
    if said.keys() != required:
        wrong = sorted(required ^ said.keys())[0]
        raise InputError(path, f"'{wrong}' is {'missing' if wrong in required else 'unknown'}")
    number, data, part, epsilon, noise = (said[k] for k in ("number", "data", "part", "max_epsilon", "noise"))
    if not _is_int(number) or not 1 <= number <= MAX_ID:
        _wrong(path, "number", number, "a node's number, from 1 on")
    if not isinstance(data, str) or not data:
        _wrong(path, "data", data, "the path of the data that the node hosts")
    if part is not None and not is_part(part):
        _wrong(path, "part", part, "such as '2/4', the second of four parts, or null for all of it")
    epsilon = from_plain(epsilon)
    if not isinstance(epsilon, int | float) or isinstance(epsilon, bool) or not epsilon > 0:
        _wrong(path, "max_epsilon", epsilon, "a positive number, or 'inf' for methods without a guarantee")
    if noise not in ("secure", "simulated"):
        _wrong(path, "noise", noise, "'secure', or 'simulated' for experiments")
    plugins = said["plugins"]
    if not isinstance(plugins, list) or not all(isinstance(name, str) and _MODULE.fullmatch(name) for name in plugins):
        _wrong(path, "plugins", plugins, "a list of the modules that this node may import, such as ['own_package']")
    return NodeSettings(folder, number, folder / data, part, float(epsilon), noise, tuple(plugins))


def node_folders(folder: Path) -> dict[int, Path]:
    """The folders of the nodes in a deployment, by number.

    Raises:
        InputError: if there are none.
    """
    found = {int(path.name[5:]): path for path in folder.glob("node-*") if path.name[5:].isdecimal()}
    if not found:
        raise InputError(folder, "holds no nodes; write some: discreet nodes write DATA --nodes 4 --out FOLDER")
    return dict(sorted(found.items()))


def read_roster(path: Path) -> dict[int, bytes]:
    """Every node's number and public key.

    Raises:
        InputError: if it cannot be used.
    """
    roster: dict[int, bytes] = {}
    for number, key in _read_object(path).items():
        if not re.fullmatch(r"[1-9][0-9]{0,9}", number) or int(number) > MAX_ID:
            raise InputError(path, f"'{number}' is not a node's number")
        if not isinstance(key, str) or not re.fullmatch(rf"[0-9a-f]{{{2 * PUBLIC_BYTES}}}", key):
            raise InputError(path, f"the key of node {number} is not {2 * PUBLIC_BYTES} hexadecimal digits")
        roster[int(number)] = bytes.fromhex(key)
    if len(roster) < 2:
        raise InputError(path, "a roster has at least 2 nodes")
    if len(set(roster.values())) < len(roster):
        raise InputError(path, "two nodes have the same key")
    return dict(sorted(roster.items()))


def write_roster(path: Path, roster: Mapping[int, bytes]) -> None:
    """Write a roster, for `read_roster`."""
    _write_json(path, {str(number): key.hex() for number, key in sorted(roster.items())})


def _read_object(path: Path) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        seen = dict(pairs)
        if len(seen) < len(pairs):
            raise InputError(path, "a name stands there twice")
        return seen

    try:
        said = json.loads(_text(path), object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise InputError(path, f"is not JSON: {error.msg}", error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise InputError(path, f"is not JSON: {error}") from None
    if not isinstance(said, dict):
        raise InputError(path, "is not a JSON object")
    return said


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise InputError(path, "is not there") from None
    except UnicodeDecodeError:
        raise InputError(path, "is not text") from None


def _write_json(path: Path, said: Mapping[str, Any]) -> None:
    with replacing_file(path) as draft:
        draft.write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n", "utf-8")


def write_secret(path: Path, secret: bytes) -> None:
    """Write a new file that only its owner can read."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(secret)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_part(part: object) -> bool:
    """Whether this names a part of the data, such as "2/4"."""
    if not isinstance(part, str) or not re.fullmatch(r"[1-9][0-9]{0,5}/[1-9][0-9]{0,5}", part):
        return False
    which, _, parts = part.partition("/")
    return int(which) <= int(parts)


def _wrong(path: Path, name: str, value: object, wanted: str) -> NoReturn:
    raise InputError(path, f"'{name}' is {wanted}, not {json.dumps(value, ensure_ascii=False)}")
