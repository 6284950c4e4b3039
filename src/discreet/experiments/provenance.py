"""What a figure depends on besides its data and settings: this code, and the libraries that compute with it.

Measurements are kept by it, so that none outlives the code that made it.
"""

from __future__ import annotations

import hashlib
import inspect
import platform
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

import discreet.version as version

COMPUTING = (
    "data",
    "text",
    "models",
    "methods",
    "training",
    "nodes",
    "aggregation",
    "edge",
    "privacy",
    "evaluation",
    "experiments",
    "vendors",
)
"""The packages whose code can change a figure."""

_LIBRARIES = ("numpy", "scipy", "torch", "numba")


@cache
def code_digest() -> str:
    """A digest of the source of all that computes figures."""
    root = Path(version.__file__).parent
    return digest_of(root, [file for part in COMPUTING for file in (root / part).rglob("*.py")])


def own_code(*kinds: type) -> str:
    """A digest of the packages that define these classes, where that is not this one; else nothing.

    Of a package all modules count, since one may use another; a class outside of any package counts by its file.
    """
    digests = []
    for kind in kinds:
        top = kind.__module__.partition(".")[0]
        if top == version.__name__.partition(".")[0]:
            continue
        try:
            file = Path(inspect.getfile(kind))
        except (OSError, TypeError):
            digests.append(kind.__qualname__)
            continue
        package = getattr(sys.modules.get(top), "__path__", None)
        root = Path(package[0]) if package else file.parent
        digests.append(digest_of(root, [*root.rglob("*.py")] if package else [file]))
    return " ".join(dict.fromkeys(digests))


def digest_of(root: Path, files: list[Path]) -> str:
    """A digest of files by their names below `root` and their content."""
    digest = hashlib.blake2b(digest_size=16)
    for file in sorted(files):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(root).as_posix()}\n{len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """The versions of Discreet, of its code, of Python and of the libraries that compute."""
    return {
        "discreet": version.__version__,
        "code": code_digest(),
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in _LIBRARIES},
    }
