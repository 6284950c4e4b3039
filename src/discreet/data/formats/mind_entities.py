"""MIND's entities: two columns of `news.tsv` as JSON, and their vectors in `entity_embedding.vec`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.entities import Entities
from discreet.data.lines import blocks, find
from discreet.errors import InputError

VECTORS = "entity_embedding.vec"
COLUMNS = ("title_entities", "abstract_entities")
_FIELDS = pl.List(pl.Struct({"WikidataId": pl.String, "SurfaceForms": pl.List(pl.String)}))


def read_entities(frame: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The same table of articles, its columns of entities as lists instead of JSON; `path` is for errors."""
    try:
        return frame.with_columns(pl.col(name).fill_null("[]").str.json_decode(_FIELDS) for name in COLUMNS)
    except (pl.exceptions.PolarsError, ValueError):
        for name in COLUMNS:
            for line, text in enumerate(frame[name].to_list(), 1):
                if not _is_list(text or "[]"):
                    raise InputError(path, f"'{name}' is no JSON list of entities", line) from None
        raise InputError(path, "the columns of entities cannot be read as MIND's") from None


def article_entities(frame: pl.DataFrame, folders: Sequence[Path]) -> Entities | None:
    """The entities of all articles, with their vectors where one of the folders has a file of them; None for none."""
    mentions = [
        [(name, form) for name, forms in _pairs(title) for form in dict.fromkeys(forms)]
        + [(name, "") for name, _ in _pairs(abstract)]
        for title, abstract in zip(frame[COLUMNS[0]].to_list(), frame[COLUMNS[1]].to_list(), strict=True)
    ]
    if not any(mentions):
        return None
    wanted = {name for own in mentions for name, _ in own}
    vectors: dict[str, NDArray[np.float32]] = {}
    for folder in folders:
        if path := find(folder, VECTORS):
            vectors |= _read_vectors(path, wanted - vectors.keys())
    return Entities.from_lists(mentions, vectors)


def write_mentions(mentions: Sequence[tuple[str, str]], text: str) -> str:
    """Mentions as a column of `news.tsv` has them."""
    found: list[dict[str, Any]] = [
        {"Label": form, "WikidataId": name, "OccurrenceOffsets": [text.find(form)], "SurfaceForms": [form]}
        for name, form in mentions
    ]
    return json.dumps(found, ensure_ascii=False)


def _pairs(cell: list[dict[str, Any]] | None) -> list[tuple[str, list[str]]]:
    return [(one["WikidataId"], one["SurfaceForms"] or []) for one in cell or [] if one and one["WikidataId"]]


def _is_list(text: str) -> bool:
    try:
        found = json.loads(text)
    except ValueError:
        return False
    return isinstance(found, list) and all(isinstance(one, dict) for one in found)


def _read_vectors(path: Path, wanted: set[str]) -> dict[str, NDArray[np.float32]]:
    """The vectors of the wanted entities: a line is an entity and its figures, between tabs."""
    found: dict[str, NDArray[np.float32]] = {}
    size = 0
    for first, block in blocks(path):
        for line, text in enumerate(block.decode("utf-8", "replace").splitlines(), first):
            name, *figures = text.rstrip("\t").split("\t")
            size = size or len(figures)
            if len(figures) != size or not size:
                raise InputError(path, f"has {len(figures)} figures where the first line has {size}", line)
            if name in wanted:
                try:
                    found[name] = np.array(figures, np.float32)
                except ValueError:
                    raise InputError(path, f"the vector of {name} has something that is no number", line) from None
    return found
