"""Writers of small files in the published formats."""

import gzip
import json
import lzma
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

MIDNIGHT = 1483225200  # 1 January 2017 in Norway
DAY = 86400


def pack(path: Path, content: bytes) -> None:
    """Write `content`, compressed as the name's ending says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    compress = {".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
    path.write_bytes(compress(content))


def mind_time(seconds: int) -> str:
    time = datetime.fromtimestamp(seconds, UTC)
    return f"{time.month}/{time.day}/{time.year} {time.hour % 12 or 12}:{time:%M:%S} {time:%p}"


def mind_news(ids: list[str]) -> str:
    return "".join(f"{name}\tnews\tsub{name}\tTitle of {name}\tAbstract\thttp://x\t[]\t[]\n" for name in ids)


def mind_line(number: int, reader: str, seconds: int, history: list[str], slate: list[str]) -> str:
    return f"{number}\t{reader}\t{mind_time(seconds)}\t{' '.join(history)}\t{' '.join(slate)}\n"


def write_mind(folder: Path, news: str, behaviors: str, ending: str = "") -> None:
    pack(folder / f"news.tsv{ending}", news.encode())
    pack(folder / f"behaviors.tsv{ending}", behaviors.encode())


def write_adressa(folder: Path, days: list[list[dict]]) -> None:
    """One file a day; `time` in the events counts from that day's midnight in Norway."""
    for number, events in enumerate(days):
        day = MIDNIGHT + number * DAY
        lines = (json.dumps({"eventId": i, **event, "time": day + event["time"]}) for i, event in enumerate(events))
        pack(folder / f"{20170101 + number}", "".join(f"{line}\n" for line in lines).encode())


def write_globo(folder: Path, clicks: list[tuple[int, int, int]], per_file: int = 7) -> None:
    """Clicks as (reader, article, milliseconds), a few to a file."""
    header = "user_id,session_id,session_start,session_size,click_article_id,click_timestamp,click_environment\n"
    for start in range(0, len(clicks), per_file):
        lines = (f"{user},1,1,2,{article},{time},4\n" for user, article, time in clicks[start : start + per_file])
        pack(folder / "clicks" / f"clicks_hour_{start // per_file:03d}.csv", (header + "".join(lines)).encode())


def write_ebnerd_split(folder: Path, behaviors: list[dict], histories: list[dict]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    kinds = {"article_ids_inview": pl.List(pl.Int32), "article_ids_clicked": pl.List(pl.Int32), "user_id": pl.UInt32}
    frame = pl.DataFrame(behaviors, schema_overrides={k: v for k, v in kinds.items() if k in behaviors[0]})
    frame.write_parquet(folder / "behaviors.parquet")
    kinds = {"article_id_fixed": pl.List(pl.Int32), "user_id": pl.UInt32}
    pl.DataFrame(histories, schema_overrides=kinds).write_parquet(folder / "history.parquet")
