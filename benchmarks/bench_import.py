"""What importing costs, in seconds and against `import numpy`, each in a fresh interpreter.

python benchmarks/bench_import.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

MODULES = ("discreet", "discreet.edge.reader.reader_client", "discreet.cli.app", "discreet.methods.method_registry")
REPEATS = 7


def seconds(statement: str) -> float:
    """The median time of a fresh interpreter that runs `statement`. The first run fills caches and is not counted."""
    times = []
    for _ in range(REPEATS + 1):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:])


if __name__ == "__main__":
    empty = seconds("pass")
    numpy = seconds("import numpy") - empty
    print(f"import {'numpy':30} {numpy:6.3f} s")
    for module in MODULES:
        found = seconds(f"import {module}") - empty
        print(f"import {module:30} {found:6.3f} s  {found / numpy:5.1f} × numpy")
