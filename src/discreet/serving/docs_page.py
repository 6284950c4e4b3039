"""The API's description as a plain page: no script, no style sheet from elsewhere, no request to anybody."""

from __future__ import annotations

import json
from html import escape
from typing import Any


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
            examples = [json.dumps(example["value"], indent=2) for example in content.get("examples", {}).values()]
            parts.extend(f"<pre>{escape(example)}</pre>" for example in examples)
            answers = "; ".join(f"{status}: {answer['description']}" for status, answer in about["responses"].items())
            parts.append(f"<p>{escape(answers)}</p>")
    body = "\n".join(parts)
    return f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Discreet</title>\n{body}\n</html>\n'
