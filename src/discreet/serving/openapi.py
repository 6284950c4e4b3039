"""The parts of the API's description that FastAPI cannot see, because bodies are read by hand for speed."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

_REF = "#/components/schemas/{model}"
_AT_THE_DOOR: dict[str, Any] = {
    status: {
        "description": text,
        "content": {"application/json": {"schema": {"$ref": _REF.format(model="Problem")}}},
    }
    for status, text in (("413", "Too large."), ("429", "Too many requests."), ("503", "Come back later."))
}
"""What any request may be answered before it is read."""
EXAMPLES: dict[str, Any] = {
    "RecommendRequest": {"space": "9f2c4b1a77d0e355", "sketches": [], "limit": 20},
    "SketchReport": {
        "id": "0b6f3a4be31f4d0f8f2b7c1de0a9c755",
        "kind": "sketch",
        "space": "9f2c4b1a77d0e355",
        "epoch": 12,
        "device": "q7Zk2x0JYw9a",
        "clicks": 18,
        "release": "RHIBAAAAAAA=",
    },
    "LabelReport": {
        "id": "5d0c2f1e9b7a48d6a3c4e5f60718293a",
        "kind": "label",
        "model": "1c9d0e7b",
        "slate": {"id": "00112233445566778899aabbccddeeff", "articles": ["N1", "N2"], "signature": "c2lnbmF0dXJl"},
        "release": "RHIBAAAAAAA=",
    },
    "SlateCount": [{"articles": ["N1", "N2", "N43"], "shown": 120}],
    "NewArticle": [{"id": "N43", "title": "Harbour opens a new pier", "category": "local", "published": 1573257600}],
}


def body_of(*models: str, array: bool = False) -> dict[str, Any]:
    """The description of a JSON body that is one of these models, or an array of one."""
    refs = [{"$ref": _REF.format(model=model)} for model in models]
    schema: dict[str, Any] = refs[0] if len(refs) == 1 else {"oneOf": refs}
    if array:
        schema = {"type": "array", "items": schema, "maxItems": 5000}
    examples = {model: {"value": EXAMPLES[model]} for model in models}
    return {
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema, "examples": examples}}}
    }


def with_shared_parts(app: FastAPI, models: list[type[BaseModel]]) -> None:
    """Put the models that bodies refer to into the application's OpenAPI document."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = plain()
            _, extra = models_json_schema([(model, "validation") for model in models], ref_template=_REF)
            document.setdefault("components", {}).setdefault("schemas", {}).update(extra["$defs"])
            for path in document["paths"].values():
                for operation in path.values():
                    operation["responses"] = {**_AT_THE_DOOR, **operation["responses"]}
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
