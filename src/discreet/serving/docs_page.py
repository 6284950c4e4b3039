"""The API's description as a plain page: no script, no style sheet from elsewhere, no request to anybody."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any

_LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} entries",
    "maxItems": "at most {} entries",
    "pattern": "matches {}",
}


def docs_page(document: dict[str, Any]) -> str:
    """HTML of an OpenAPI document."""
    parts = [f"<h1>{escape(document['info']['title'])} {escape(document['info']['version'])}</h1>"]
    parts.append(f"<p>{escape(document['info'].get('summary', ''))}</p>")
    parts.append('<p>For programs: <a href="/openapi.json">/openapi.json</a>.</p>')
    for path, methods in document["paths"].items():
        for method, about in methods.items():
            parts.append(f"<h2><code>{escape(method.upper())} {escape(path)}</code></h2>")
            parts.append(f"<p>{escape(about.get('description', ''))}</p>")
            content = about.get("requestBody", {}).get("content", {}).get("application/json", {})
            parts.extend(f"<p>Body: {link}</p>" for link in _links(content.get("schema", {})))
            examples = [json.dumps(example["value"], indent=2) for example in content.get("examples", {}).values()]
            parts.extend(f"<pre>{escape(example)}</pre>" for example in examples)
            parts.append("<ul>")
            for status, answer in about["responses"].items():
                schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
                fields = "".join(f" {link}" for link in _links(schema))
                parts.append(f"<li>{escape(status)}: {escape(answer['description'])}{fields}</li>")
            parts.append("</ul>")
    parts.append("<h1>Messages</h1>")
    for name, schema in sorted(document.get("components", {}).get("schemas", {}).items()):
        parts.append(f'<h2 id="{escape(name)}">{escape(name)}</h2><p>{escape(schema.get("description", ""))}</p>')
        parts.extend(_fields(schema))
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Discreet</title>\n{body}\n</html>\n'


def _fields(schema: dict[str, Any]) -> Iterator[str]:
    """A table of a message's fields."""
    if not schema.get("properties"):
        return
    yield "<table><tr><th>field</th><th>type</th><th>required</th><th>meaning</th></tr>"
    for name, field in schema["properties"].items():
        required = "yes" if name in schema.get("required", []) else ""
        if not required and field.get("default") is not None:
            required = f"default {escape(json.dumps(field['default']))}"
        cells = f"<code>{escape(name)}</code>", _kind(field), required, escape(field.get("description", ""))
        yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    yield "</table>"


def _kind(schema: dict[str, Any]) -> str:
    """The type of a field with its limits."""
    if "$ref" in schema:
        return _link(schema["$ref"])
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return " or ".join(_kind(choice) for choice in choices)
    if "const" in schema or "enum" in schema:
        return " or ".join(escape(json.dumps(value)) for value in schema.get("enum", [schema.get("const")]))
    kind = escape(str(schema.get("type", "anything")))
    if schema.get("type") == "array":
        kind = f"array of {_kind(schema.get('items', {}))}"
    limits = [escape(words.format(schema[name])) for name, words in _LIMITS.items() if name in schema]
    return f"{kind} ({', '.join(limits)})" if limits else kind


def _links(schema: dict[str, Any]) -> Iterator[str]:
    """The messages that a schema names."""
    if "$ref" in schema:
        yield _link(schema["$ref"])
    elif schema.get("type") == "array":
        yield from (f"array of {link}" for link in _links(schema.get("items", {})))
    for choice in schema.get("oneOf", schema.get("anyOf", [])):
        yield from _links(choice)


def _link(reference: str) -> str:
    name = escape(reference.rpartition("/")[2])
    return f'<a href="#{name}">{name}</a>'
