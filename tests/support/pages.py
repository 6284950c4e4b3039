"""Pages of documentation as programs: their blocks are run as they stand there, in order, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

from served_world import free_port
from tools import tool

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(?P<kind>\w*)\n(?P<fenced>.*?)^```|(?<=\n\n)(?P<plain>(?:    [^\n]+\n)+)", re.M | re.S)
_PROGRAMS = {
    "discreet": f'exec "{sys.executable}" -m discreet "$@"',
    "python": f'exec "{sys.executable}" "$@"',
    # What sets up or tests a clone is only looked up: this runs inside of it.
    "make": f'exec {tool("make")} --dry-run --no-print-directory --directory "{ROOT}" "$@" > /dev/null',
    "pytest": f'test -e "{ROOT}/$1"',
    "pip": f"""exec "{sys.executable}" -c '
import re, sys, tomllib
extras = tomllib.load(open("{ROOT}/pyproject.toml", "rb"))["project"]["optional-dependencies"]
sys.exit(not set(re.findall(r"[a-z]+", sys.argv[2])) <= set(extras))
' "$@\"""",
}


def blocks_of(page: Path) -> list[tuple[str, str]]:
    """The programs of a page: "sh" or "python", and the text. Blocks of other kinds are no programs."""
    found = []
    for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        kind = "sh" if block["plain"] else block["kind"]
        text = block["fenced"] or re.sub("^    ", "", block["plain"] or "", flags=re.MULTILINE)
        found += [(kind, text)] if kind in ("sh", "python") else []
    return found


def free_ports() -> dict[str, str]:
    """A free port for each that pages name."""
    return {port: str(free_port()) for port in ("8000", "8001")}


def run_page(page: Path, place: Path, *, patience: int, free: dict[str, str] | None = None) -> list[str]:
    """What each block of a page prints. The one thing that differs are ports: 8000 and 8001 may be taken."""
    folder, programs = place / "empty", place / "bin"
    folder.mkdir()
    programs.mkdir()
    for name, line in _PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    script = "trap 'kill $(jobs -p) 2> /dev/null || true' EXIT; trap 'exit 1' TERM\n"
    for number, (kind, text) in enumerate(blocks_of(page)):
        script += "echo BLOCK\n"
        if kind == "python":
            (place / f"block{number}.py").write_text(text)
            text = f"python '{place}/block{number}.py'\n"
        script += text
    for port, other in (free or free_ports()).items():
        script = script.replace(port, other)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "DISCREET_CACHE": str(place / "cache")}
    environment |= {"PYTHONPATH": str(ROOT / "src")}
    command = ["timeout", str(patience), "bash", "-em", "-c", script]
    done = subprocess.run(command, cwd=folder, env=os.environ | environment, capture_output=True, text=True)
    logs = "".join(log.read_text() for log in folder.glob("*log.txt"))
    assert done.returncode == 0, done.stdout + done.stderr + logs
    return done.stdout.split("BLOCK\n")[1:]
