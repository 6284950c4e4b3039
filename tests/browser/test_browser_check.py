"""The browser's checks of answers say what Python's say, and its schema is the same one."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

from tools import tool

ROOT = Path(__file__).parents[2]
DEVICE = ROOT / "src" / "discreet" / "serving" / "web" / "device"
SUPPORT = ROOT / "tests" / "support"
ANSWERS = ROOT / "tests" / "protocol" / "answers.json"


def node(*arguments: object) -> str:
    return subprocess.run([tool("node"), *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def test_every_verdict_is_pythons() -> None:
    cases = len(json.loads(ANSWERS.read_text(encoding="utf-8")))
    result = json.loads(node(SUPPORT / "check_answers.mjs", ANSWERS, DEVICE / "check.js"))
    assert result == {"cases": cases, "wrong": []}


def test_sha256_is_sha256() -> None:
    texts = bytes(range(256)) * 3
    script = f"""import {{ sha256 }} from "{(DEVICE / "sha256.js").as_uri()}";
      const bytes = Uint8Array.from({{ length: 768 }}, (_, place) => place % 256);
      console.log(Array.from({{ length: 200 }}, (_, size) => sha256(bytes.subarray(size, 3 * size))).join(" "));"""
    digests = node("--input-type=module", "--eval", script).split()
    assert digests == [hashlib.sha256(texts[size : 3 * size]).hexdigest() for size in range(200)]
