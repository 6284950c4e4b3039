"""A server's log: one JSON object a line, whoever writes it."""

import json
import subprocess
import sys

import pytest

WRITES = {
    "the server": "log('info', 'here', feed='x')",
    "a notice": "notice('here')",
    "a notice that is said once": "notice_once('here')",
    "a warning": "warnings.warn('here\\nand there')",
    "a library": "logging.getLogger('some.library').warning('here\\nand there')",
    "uvicorn": "logging.getLogger('uvicorn.error').info('here')",
    "an error in a thread": "t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()",
    "an error in a destructor": "type('A', (), {'__del__': lambda one: 1 / 0})()",
    "an error that nobody catches": "1 / 0",
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_whatever_is_written_is_one_line_of_json(write):
    lines = [
        "import logging, threading, warnings",
        "from discreet.progress import notice, notice_once, shown",
        "from discreet.serving.logs import configure, log",
        "with shown():",
        "    configure('info')",
        f"    {write}",
    ]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False)
    (line,) = done.stderr.splitlines()
    found = json.loads(line)
    assert {"time", "level", "from", "event"} <= found.keys()
    assert "here" in found["event"] or found["exception"] == "ZeroDivisionError"
    assert "and there" not in line
    assert done.returncode == (write == "1 / 0")


def test_notices_are_plain_where_no_log_is_written():
    words = "from discreet.progress import notice, shown\nwith shown(): notice('here')"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=False)
    assert done.stderr == "here\n"
