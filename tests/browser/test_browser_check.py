"""The browser's checks of answers say what Python's say, and its schema is the same one."""

from __future__ import annotations

import hashlib
import json
import subprocess
from itertools import combinations
from pathlib import Path

from addresses import OTHERS, WRITTEN
from tools import tool

from discreet.serving.canonical_address import plain_id

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


def test_addresses_of_one_page_are_those_that_are_one_for_the_server() -> None:
    pages = ["https://news.example/a/b?id=7&x=%C3%BC", "https://news.example/a%252Fb", "https://news.example/%7eb//c"]
    more = ["http://news.example/~b/c?", "https://news.example/~b/C", "https://news.example:444/~b/c", "no address", ""]
    addresses = [*WRITTEN, *OTHERS, *pages, *more]
    script = f"""import {{ canonical }} from "{(DEVICE / "addresses.js").as_uri()}";
      console.log(JSON.stringify({json.dumps(addresses)}.map(canonical)));"""
    forms = json.loads(node("--input-type=module", "--eval", script))
    ids = [plain_id(address) for address in addresses]
    for (one, form), (other, other_form) in combinations(zip(ids, forms, strict=True), 2):
        assert (one == other) == (form == other_form), (form, other_form)
    assert forms[: len(WRITTEN) + len(OTHERS)] == ids[: len(WRITTEN) + len(OTHERS)]
