"""The models by name: making one, describing one so that it can be made again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.models.bilinear import Bilinear
from discreet.models.features import ArticleTable
from discreet.models.fednewsrec import FedNewsRec
from discreet.models.layers import WordEmbedding
from discreet.models.naml import NAML
from discreet.models.nrms import NRMS
from discreet.models.plm_nr import PLMNR
from discreet.models.published import PublishedModel, Settings, TableSizes, WordSettings

MODELS: dict[str, type[PublishedModel[Any]]] = {
    "fednewsrec": FedNewsRec,
    "nrms": NRMS,
    "naml": NAML,
    "plm_nr": PLMNR,
    "bilinear": Bilinear,
}


def model_settings(name: str, preset: str = "published", **changes: Any) -> Settings:
    """The settings of a preset (`published` or `small`) of a model, with some of them changed."""
    presets = _model_class(name).PRESETS
    if preset not in presets:
        raise DiscreetError(f"unknown preset {preset!r}; choose one of {', '.join(presets)}")
    settings: Settings = replace(presets[preset], **changes)
    return settings


def make_model(
    name: str,
    preset: str,
    table: ArticleTable,
    seed: int,
    *,
    word_vectors: NDArray[np.floating] | None = None,
    **changes: Any,
) -> PublishedModel[Any]:
    """A new model for the articles of `table`, the same for the same seed.

    `word_vectors` [words, size] are public vectors of the vocabulary, in its order. They set the length of the model's
    word vectors and stay as they are, unless `train_words=True`. A model that reads words and is given no vectors for
    them starts from random ones and learns them, unless `train_words=False`.
    """
    settings = model_settings(name, preset, **changes)
    if isinstance(settings, WordSettings):
        if word_vectors is None:
            settings = replace(settings, train_words=changes.get("train_words", True))
        else:
            settings = replace(settings, word_size=word_vectors.shape[1])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _model_class(name)(settings, table.sizes)
    if isinstance(model, PLMNR) and table.vectors is not None:
        model.start_from(table.vectors)
    if isinstance(model, Bilinear):
        model.start_from(table.batch(torch.arange(table.anonymous)))
    if word_vectors is not None:
        for module in model.modules():
            if isinstance(module, WordEmbedding):
                module.fill(word_vectors)
    return model


def describe_model(model: PublishedModel[Any]) -> dict[str, Any]:
    """Plain JSON values from which `remake_model` makes the model again; its parameters are its `state_dict`."""
    name = next(name for name, kind in MODELS.items() if type(model) is kind)
    return {"model": name, "settings": asdict(model.settings), "sizes": asdict(model.sizes)}


def remake_model(description: Mapping[str, Any]) -> PublishedModel[Any]:
    """A model as described, ready for `load_state_dict`."""
    kind = _model_class(description["model"])
    settings = replace(kind.PRESETS["published"], **description["settings"])
    return kind(settings, TableSizes(**description["sizes"]))


def _model_class(name: str) -> type[PublishedModel[Any]]:
    if name not in MODELS:
        raise DiscreetError(f"unknown model {name!r}; choose one of {', '.join(MODELS)}")
    return MODELS[name]
