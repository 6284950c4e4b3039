"""Reading a log of MIND-small's size, against the usual reader: line by line into Python dictionaries and lists.

Generates 157,000 impressions of 50,000 readers (mean history 32, mean slate 37) over 51,000 articles in MIND's format,
then reads them with both in fresh processes. Targets: at least five times as fast, peak memory under 1 GB with
all imports.

    python benchmarks/bench_reading.py
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

IMPRESSIONS, READERS, ARTICLES = 157_000, 50_000, 51_000
MEAN_HISTORY, MEAN_SLATE = 32, 37
SPEED_TARGET, MEMORY_TARGET_GB = 5.0, 1.0
REPEATS = 3


def write_log(folder: Path) -> None:
    """A random log in MIND's format; every reader has one history, as in the published files."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    ids = pl.Series([f"N{i}" for i in range(1, ARTICLES + 1)])

    def texts(sizes: np.ndarray, tokens: pl.Series) -> pl.Series:
        rows = pl.DataFrame({"row": np.repeat(np.arange(len(sizes)), sizes), "token": tokens})
        joined = rows.group_by("row", maintain_order=True).agg(pl.col("token").str.join(" "))
        everything = pl.DataFrame({"row": np.arange(len(sizes))})
        return everything.join(joined, on="row", how="left", maintain_order="left")["token"]

    sizes = rng.geometric(1 / (MEAN_HISTORY + 1), READERS) - 1
    histories = texts(sizes, ids.gather(rng.integers(0, ARTICLES, sizes.sum())))
    sizes = rng.geometric(1 / MEAN_SLATE, IMPRESSIONS)
    labels = pl.Series(["-0", "-1"]).gather((rng.random(sizes.sum()) < 1.5 / MEAN_SLATE).astype(np.uint32))
    slates = texts(sizes, ids.gather(rng.integers(0, ARTICLES, sizes.sum())) + labels)
    reader = rng.integers(0, READERS, IMPRESSIONS)
    times = pl.Series(1_573_257_600 + rng.integers(0, 6 * 86_400, IMPRESSIONS)).cast(pl.Int64) * 1_000_000
    behaviors = pl.DataFrame(
        {
            "impression": np.arange(1, IMPRESSIONS + 1),
            "reader": pl.Series([f"U{i}" for i in range(READERS)]).gather(reader),
            "time": times.cast(pl.Datetime("us")).dt.to_string("%-m/%-d/%Y %-I:%M:%S %p"),
            "history": histories.gather(reader),
            "slate": slates,
        }
    )
    news = pl.DataFrame({"id": ids}).with_columns(
        category=pl.lit("news"),
        subcategory=pl.lit("newsworld"),
        title="Title of article " + pl.col("id"),
        abstract="An abstract of some length about what article " + pl.col("id") + " reports",
        url="https://example.org/" + pl.col("id"),
        title_entities=pl.lit("[]"),
        abstract_entities=pl.lit("[]"),
    )
    (folder / "train").mkdir(parents=True)
    for name, frame in {"behaviors": behaviors, "news": news}.items():
        frame.write_csv(folder / "train" / f"{name}.tsv", separator="\t", include_header=False, quote_style="never")


def read_by_line(folder: Path) -> dict[str, int]:
    """The usual reader: dictionaries from ids to numbers, lists of lists."""
    number: dict[str, int] = {}
    titles = []
    with (folder / "train" / "news.tsv").open(encoding="utf-8") as lines:
        for line in lines:
            fields = line.rstrip("\n").split("\t")
            number[fields[0]] = len(number)
            titles.append((fields[1], fields[2], fields[3], fields[4]))
    readers: dict[str, int] = {}
    impressions = []
    with (folder / "train" / "behaviors.tsv").open(encoding="utf-8") as lines:
        for line in lines:
            _, reader, moment, history, slate = line.rstrip("\n").split("\t")
            shown, clicked = [], []
            for token in slate.split():
                name, label = token.split("-")
                shown.append(number[name])
                clicked.append(int(label))
            impressions.append(
                (
                    readers.setdefault(reader, len(readers)),
                    datetime.strptime(moment, "%m/%d/%Y %I:%M:%S %p"),
                    [number[name] for name in history.split()],
                    shown,
                    clicked,
                )
            )
    impressions.sort(key=lambda impression: impression[1])
    return {
        "impressions": len(impressions),
        "readers": len(readers),
        "shown": sum(len(shown) for *_, shown, _ in impressions),
        "clicks": sum(sum(clicked) for *_, clicked in impressions),
        "history": sum(len(history) for _, _, history, _, _ in impressions),
    }


def read_with_discreet(folder: Path) -> dict[str, int]:
    """Our reader."""
    from discreet.data.open import open_news

    data = open_news(folder)
    part = data.splits["train"]
    return {
        "impressions": len(part),
        "readers": len(data.readers),
        "shown": len(part.shown),
        "clicks": int(part.clicked.sum()),
        "history": int(part.history_sizes.sum()),
    }


def measure(which: str, folder: Path) -> None:
    """Run one reader in this process; imports are not timed, but their memory counts."""
    if which == "discreet":
        import discreet.data.open  # noqa: F401
    read = {"discreet": read_with_discreet, "by line": read_by_line}[which]
    start = time.perf_counter()
    counts = read(folder)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps({"seconds": seconds, "peak_gb": peak, "counts": counts}))


def run_apart(step: str, folder: str) -> str:
    """Run a step in a fresh process. This one stays small: a child's peak memory begins with that of its parent."""
    command = [sys.executable, __file__, "--step", step, "--folder", folder]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> int:
    """Print both readers side by side; 1 if a target is missed."""
    results: dict[str, list[dict]] = {"by line": [], "discreet": []}
    with tempfile.TemporaryDirectory() as place:
        run_apart("write", place)
        for _ in range(REPEATS):
            for which, runs in results.items():
                runs.append(json.loads(run_apart(which, place)))
    counts = results["discreet"][0]["counts"]
    if any(run["counts"] != counts for runs in results.values() for run in runs):
        raise SystemExit("the two readers disagree on what is in the log")
    best = {which: min(run["seconds"] for run in runs) for which, runs in results.items()}
    peak = {which: max(run["peak_gb"] for run in runs) for which, runs in results.items()}
    print(f"{counts['impressions']:,} impressions, {counts['shown']:,} shown, {counts['history']:,} history clicks")
    print(f"{'reader':<24}{'seconds':>10}{'peak GB':>10}")
    print(f"{'line by line, dicts':<24}{best['by line']:>10.2f}{peak['by line']:>10.2f}")
    print(f"{'discreet':<24}{best['discreet']:>10.2f}{peak['discreet']:>10.2f}")
    ratio = best["by line"] / best["discreet"]
    met = ratio >= SPEED_TARGET and peak["discreet"] < MEMORY_TARGET_GB
    verdict = "met" if met else "MISSED"
    print(f"ratio {ratio:.1f} (target {SPEED_TARGET:g}), memory target {MEMORY_TARGET_GB:g} GB: {verdict}")
    return 0 if met else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--step", choices=["write", "by line", "discreet"])
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    if arguments.step == "write":
        write_log(arguments.folder)
    elif arguments.step:
        measure(arguments.step, arguments.folder)
    else:
        sys.exit(main())
