"""Write requirements-image.txt: what the image installs, with versions from constraints.txt and the hash of each file.

    python .ci/pin_image.py

pip itself says what it would install and with which hashes; nothing is installed. The files are those of the processor
and the Python that this runs on, so run it where they are those of the image. torch must be found as its CPU build.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "requirements-image.txt"
HEAD = "# What the image installs, by hash, for x86-64 and Python {python}. Written by .ci/pin_image.py; do not edit.\n"


def image_extras(dockerfile: str) -> str:
    """The extras that the Dockerfile asks for, as pip is told: '.[serve,lm]'."""
    found = re.search(r"'(\.\[[a-z,]+\])'", dockerfile)
    if found is None:
        raise SystemExit("Dockerfile: no '.[extras]' is installed")
    return found.group(1)


def pip_report(what: str) -> dict[str, Any]:
    """What pip would install, in its own words."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
        command += ["--report", str(report), "--constraint", "constraints.txt", what]
        subprocess.run(command, cwd=ROOT, check=True)
        read: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return read


def pinned(report: dict[str, Any]) -> str:
    """The requirements with their hashes, in the order of their names; the project itself is not one of them."""
    lines = []
    for item in report["install"]:
        name, version = item["metadata"]["name"], item["metadata"]["version"]
        if "dir_info" in item["download_info"]:
            continue
        hashes = item["download_info"].get("archive_info", {}).get("hashes", {})
        if "sha256" not in hashes:
            raise SystemExit(f"{name}: pip tells no sha256")
        lines.append(f"{name.lower().replace('_', '-')}=={version} --hash=sha256:{hashes['sha256']}\n")
    return HEAD.format(python=report["environment"]["python_version"]) + "".join(sorted(lines))


if __name__ == "__main__":
    text = pinned(pip_report(image_extras((ROOT / "Dockerfile").read_text(encoding="utf-8"))))
    if "torch==" in text and "+cpu" not in text:
        raise SystemExit("torch is not its CPU build; give pip the index of the CPU builds (PIP_EXTRA_INDEX_URL)")
    TARGET.write_text(text, encoding="utf-8")
