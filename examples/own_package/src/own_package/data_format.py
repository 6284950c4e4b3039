"""A data format: a folder with `articles.jsonl` and `impressions.jsonl`, one JSON object a line."""

import json
from typing import ClassVar

import discreet as d
from discreet.errors import InputError


@d.register
class JsonLines(d.NewsFormat):
    """News in JSON lines; the keys are the columns of `NewsData.from_frames`."""

    name: ClassVar[str] = "jsonl"
    summary: ClassVar[str] = "JSON lines (articles.jsonl and impressions.jsonl)"

    def recognises(self, path):
        """By the names of the files."""
        return (path / "articles.jsonl").is_file() and (path / "impressions.jsonl").is_file()

    def read(self, path, *, negatives=4, seed=0):
        """Read both files."""
        articles, impressions = (_columns(path / f"{name}.jsonl") for name in ("articles", "impressions"))
        return d.NewsData.from_frames(articles, impressions, name=path.name)


def _columns(path):
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise InputError(path, f"is not JSON ({error.msg}); write one object a line", number) from error
    return {name: [row.get(name) for row in rows] for name in rows[0]} if rows else {}
