"""A fitted model of purchases as a file (safetensors), and its recommendations as csv."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from scipy.sparse import csr_array

from discreet.errors import InputError
from discreet.files import replacing_file
from discreet.vendors.implicit.ease import FittedEASE, Inverse
from discreet.vendors.implicit.ials import FittedIALS
from discreet.vendors.implicit.item_ranker import ItemRanker
from discreet.vendors.implicit.popularity import FittedPopularity

Arrays = dict[str, NDArray[Any]]
_FORMAT = 1
_SCORES_AT_ONCE = 1 << 22


def save_ranker(model: ItemRanker, path: Path) -> None:
    """Write the model, with the names of its users and items and with what users bought."""
    kind, arrays = _taken_apart(model)
    about = {"format": _FORMAT, "kind": kind, "users": list(model.users), "items": list(model.items)}
    tensors = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    tensors |= {"bought/start": model.bought.indptr, "bought/item": model.bought.indices}
    with replacing_file(path) as draft:
        save_file(tensors, draft, {"ranker": json.dumps(about)})


def load_ranker(path: Path) -> ItemRanker:
    """The inverse of `save_ranker`.

    Raises:
        InputError: the file is not there, or not as `save_ranker` writes it.
    """
    if not path.exists():
        raise InputError(path, "does not exist")
    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads(file.metadata()["ranker"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dictionary)
        if about["format"] != _FORMAT:
            raise InputError(path, f"has format {about['format']}; this version reads {_FORMAT}")
        start, item = arrays.pop("bought/start"), arrays.pop("bought/item")
        ones = np.ones(len(item), np.float32)
        bought = csr_array((ones, item, start), shape=(len(about["users"]), len(about["items"])))
        return _put_together(about["kind"], about["users"], about["items"], bought, arrays)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(path, f"is not a model of purchases, or is damaged ({error})") from error


def write_rankings(model: ItemRanker, path: Path, k: int, titles: Sequence[str]) -> int:
    """Write `user,rank,item,title,score`, the `k` best items for every user; return how many lines there are."""
    lines, at_once = 0, max(1, _SCORES_AT_ONCE // len(model.items))
    with replacing_file(path) as draft, draft.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(("user", "rank", "item", "title", "score"))
        for first in range(0, len(model.users), at_once):
            users = np.arange(first, min(first + at_once, len(model.users)))
            for user, row in zip(users.tolist(), model.open_scores(users), strict=True):
                for rank, place in enumerate(model.best(row, k), 1):
                    found = model.users[user], rank, model.items[place], titles[place], f"{row[place]:.6g}"
                    out.writerow(found)
                    lines += 1
    return lines


def _taken_apart(model: ItemRanker) -> tuple[str, Arrays]:
    match model:
        case FittedEASE(inverse=inverse):
            arrays = {"kept": model.kept, "popularity": model.popularity}
            arrays |= {"base": inverse.base, "diagonal": inverse.diagonal}
            return "ease", arrays | ({} if inverse.half is None else {"half": inverse.half})
        case FittedIALS():
            return "ials", {"user_vectors": model.user_vectors, "item_vectors": model.item_vectors}
        case FittedPopularity():
            return "popularity", {"counts": model.counts}
    raise TypeError(f"a {type(model).__name__} cannot be written")


def _put_together(kind: str, users: list[str], items: list[str], bought: csr_array, arrays: Arrays) -> ItemRanker:
    if kind == "ease":
        inverse = Inverse(arrays["base"], arrays.get("half"), arrays["diagonal"])
        return FittedEASE(users, items, bought, arrays["kept"], inverse, arrays["popularity"])
    if kind == "ials":
        return FittedIALS(users, items, bought, arrays["user_vectors"], arrays["item_vectors"])
    if kind == "popularity":
        return FittedPopularity(users, items, bought, arrays["counts"])
    raise ValueError(f"there is no model of the kind {kind}")
