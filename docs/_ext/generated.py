"""Pages that are written from the code when the site is built: every command, every HTTP message.

They go to `reference/generated/`, which git does not keep.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import httpx
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages before Sphinx reads its sources."""
    app.connect("builder-inited", _write)
    return {"version": "1", "parallel_read_safe": True}


def _write(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference" / "generated"
    folder.mkdir(exist_ok=True)
    for name, lines in (("commands.md", _commands()), ("http.md", _http())):
        text = "\n".join(lines) + "\n"
        page = folder / name
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def _commands() -> Iterator[str]:
    from typer.main import get_command

    from discreet.cli.app import app

    yield "# All commands\n\nWritten from the commands themselves. [Conventions and results](../command-line.md)."
    yield from _command(get_command(app), "discreet")


def _command(command: click.Command, name: str) -> Iterator[str]:
    context = click.Context(command, info_name=name)
    if isinstance(command, click.Group):
        for part in command.list_commands(context):
            yield from _command(command.get_command(context, part), f"{name} {part}")  # type: ignore[arg-type]
        return
    arguments = [
        f" {parameter.human_readable_name}" for parameter in command.params if isinstance(parameter, click.Argument)
    ]
    yield f"\n## {name}\n\n```\n{name}{''.join(arguments)} [OPTIONS]\n```\n\n{_plain(command.help or '')}\n"
    rows = [_row(parameter, context) for parameter in command.params if not getattr(parameter, "hidden", False)]
    if rows:
        yield "\n".join(["| | meaning | default |", "| --- | --- | --- |", *rows])


def _row(parameter: click.Parameter, context: click.Context) -> str:
    if isinstance(parameter, click.Argument):
        name, about = parameter.human_readable_name, getattr(parameter, "help", "") or ""
    else:
        name, about = ", ".join((*parameter.opts, *parameter.secondary_opts)), getattr(parameter, "help", "") or ""
    default = parameter.get_default(context)
    nothing = default is None or default is False or default in ((), []) or callable(default)
    shown = "" if nothing else f"`{default}`"
    required = "required" if parameter.required else shown
    return f"| `{name}` | {_plain(about).replace('|', chr(92) + '|')} | {required} |"


def _plain(text: str) -> str:
    """Help text as Markdown: an asterisk or a bracket in it means itself."""
    return text.replace("\b", "").replace("<", "&lt;").replace("[", "\\[").replace("*", "\\*").strip()


def _http() -> Iterator[str]:
    logging.getLogger("httpx").setLevel(logging.WARNING)
    document = asyncio.run(_openapi())
    yield "# All HTTP messages\n\nWritten from the server's own description (`/openapi.json`)."
    yield "[How they work together](../http.md)."
    for path, methods in document["paths"].items():
        for method, about in methods.items():
            yield f"\n## {method.upper()} {path}\n\n{_plain(about.get('description', ''))}\n"
            content = about.get("requestBody", {}).get("content", {}).get("application/json", {})
            for example in content.get("examples", {}).values():
                yield f"```json\n{json.dumps(example['value'], indent=2, ensure_ascii=False)}\n```\n"
            for status, answer in about["responses"].items():
                yield f"- {status}: {_plain(answer['description'])}"
    yield "\n## Fields\n"
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield f"\n### {name}\n\n{_plain(schema.get('description', ''))}\n"
        rows = [_field(field, about, schema) for field, about in schema.get("properties", {}).items()]
        if rows:
            yield "\n".join(["| field | type | |", "| --- | --- | --- |", *rows])


async def _openapi() -> dict[str, Any]:
    """What a server would answer; it need not be started for that."""
    from discreet.serving.endpoints import create_app

    nothing: Any = SimpleNamespace(offer=SimpleNamespace(tasks=()))
    server = httpx.ASGITransport(create_app(nothing, admin_token="documentation"))
    async with httpx.AsyncClient(transport=server, base_url="http://server") as client:
        return dict((await client.get("/openapi.json")).json())


def _field(name: str, about: dict[str, Any], schema: dict[str, Any]) -> str:
    needed = "" if name in schema.get("required", []) else "optional. "
    return f"| `{name}` | {_type(about)} | {needed}{_plain(about.get('description', ''))} |".replace("\n", " ")


def _type(about: dict[str, Any]) -> str:
    if "$ref" in about:
        return str(about["$ref"].rsplit("/", 1)[-1])
    if "anyOf" in about:
        return " or ".join(_type(one) for one in about["anyOf"])
    if about.get("type") == "array":
        return f"list of {_type(about.get('items', {}))}"
    return str(about.get("type", about.get("const", "")))
