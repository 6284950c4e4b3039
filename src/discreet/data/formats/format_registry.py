"""All data formats by name, in the order in which a path is tried; those of plugins are tried first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.data.formats.data_format import DataFormat
from discreet.errors import InputError
from discreet.plugins import Registry

FORMATS: Registry[type[DataFormat]] = Registry(
    "data format",
    {
        "mind": "discreet.data.formats.mind:Mind",
        "ebnerd": "discreet.data.formats.ebnerd:EBNeRD",
        "globo": "discreet.data.formats.globo:Globo",
        "adressa": "discreet.data.formats.adressa:Adressa",
        "purchases": "discreet.data.formats.purchases_file:PurchaseTable",
        "ratings": "discreet.data.formats.movielens:MovieLens",
    },
)


def recognise(path: Path) -> DataFormat | None:
    """The format of the data set at `path`, or None if it is in none of those known."""
    if not path.exists():
        raise InputError(path, "does not exist; 'discreet data synth' makes a data set to try")
    if path.is_dir() and not any(path.iterdir()):
        raise InputError(path, "is an empty folder")
    kinds = [*FORMATS.own(), *(FORMATS[name] for name in FORMATS.shipped)]
    return next((found for kind in kinds if (found := kind()).recognises(path)), None)


def known(base: type[Any]) -> str:
    """What the formats of one base class look like, in words."""
    *others, last = [FORMATS[name].summary for name in FORMATS if issubclass(FORMATS[name], base)]
    return f"{', '.join(others)} or {last}" if others else last
