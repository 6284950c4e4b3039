"""`discreet.js`: the device and the element in one file, made from the modules in `web/` without any tool.

Every module becomes a function that is called once, in the order of imports, and gives an object of its exports. The
modules are written so that this is enough: imports and exports stand at the beginning of a line, each export is one
declaration, and no module imports itself by a detour. The worker is inline, because a page may not start one from
another origin's file. The same modules always give the same bytes.

`python -m discreet.serving.bundle FILE` writes it: `npm pack` in `packages/browser` does so.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from functools import cache
from pathlib import Path

WEB = Path(__file__).parent / "web"
ENTRY, WORKER, OPENS_WORKER = "element/main.js", "device/prio3/worker.js", "device/prio3/open_worker.js"

_IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)
_LATER = re.compile(r'\bimport\("([^"]+)"\)')
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) ([A-Za-z_]\w*))", re.MULTILINE)
_LIST = re.compile(r"^export \{([^}]*)\};\n", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*/\*\*?.*?\*/[ \t]*\n", re.MULTILINE | re.DOTALL)
_INLINE = """
export function openWorker() {
  return new Worker(URL.createObjectURL(new Blob([%s], { type: "text/javascript" })));
}
"""
_HEAD = (
    "/* Discreet: a front page that the reader's own device ranks. Apache-2.0. Made by discreet.serving.bundle. */\n"
)


@cache
def bundle() -> bytes:
    """The whole of discreet.js, an ES module."""
    worker = Bundle()
    worker.add(WORKER)
    whole = Bundle({OPENS_WORKER: _INLINE % json.dumps(worker.text())})
    whole.add(ENTRY)
    last, names = whole.names[ENTRY], sorted(whole.exports[ENTRY])
    shown = "".join(f"export const {name} = {last}.{name};\n" for name in names)
    return f"{_HEAD}{whole.text()}{shown}".encode()


def integrity_of(script: bytes) -> str:
    """What a page writes into `integrity`, so that the browser runs these very bytes and no others."""
    return "sha384-" + base64.b64encode(hashlib.sha384(script).digest()).decode()


class Bundle:
    """Modules in the order in which they must run; `instead` has other sources for some."""

    def __init__(self, instead: dict[str, str] | None = None) -> None:
        self.names: dict[str, str] = {}
        self.exports: dict[str, list[str]] = {}
        self._instead = instead or {}
        self._parts: list[str] = []

    def add(self, module: str) -> str:
        """Add a module, after all that it imports; the name of its object."""
        if module in self.names:
            return self.names[module]
        source = self._instead.get(module) or (WEB / module).read_text(encoding="utf-8")
        source = _COMMENT.sub("", source)
        source = _IMPORT.sub(lambda found: self._import(module, found[1], found[2]), source)
        source = _LATER.sub(lambda found: f"Promise.resolve({self.add(_resolved(module, found[1]))})", source)
        exported = [found[1] for found in _EXPORT.finditer(source)]
        exported += [name.strip() for found in _LIST.finditer(source) for name in found[1].split(",")]
        source = _LIST.sub("", _EXPORT.sub("", source))
        name = f"m{len(self._parts)}"
        self.names[module], self.exports[module] = name, exported
        self._parts.append(f"const {name} = (() => {{\n{source.strip()}\nreturn {{ {', '.join(exported)} }};\n}})();\n")
        return name

    def text(self) -> str:
        """All modules."""
        return "".join(self._parts)

    def _import(self, module: str, names: str, path: str) -> str:
        imported = _resolved(module, path)
        name = self.add(imported)
        wanted = {one.split(" as ")[0].strip() for one in names.split(",") if one.strip()}
        assert wanted <= {*self.exports[imported]}, f"{imported}: each export must be one declaration of its own"
        return f"const {{{names.replace(' as ', ': ')}}} = {name};\n"


def _resolved(module: str, path: str) -> str:
    return (WEB / module).parent.joinpath(path).resolve().relative_to(WEB.resolve()).as_posix()


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(bundle())
