"""The models by name: registering one, choosing its settings, making it, describing it so that it can be made again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any, get_type_hints

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from discreet.errors import DiscreetError
from discreet.models.features import ArticleTable
from discreet.models.layers import EntityEmbedding, WordEmbedding
from discreet.models.news_model import ModelSettings, Needs, NewsModel, TableSizes
from discreet.models.published import EntitySettings, WordSettings
from discreet.plugins import Registry
from discreet.setting_values import checked_value, shown


def _check(model: type[NewsModel]) -> None:
    presets = getattr(model, "PRESETS", {})
    if not {"published", "small"} <= presets.keys() or not all(
        isinstance(one, ModelSettings) for one in presets.values()
    ):
        raise DiscreetError(f"{model.__qualname__}: PRESETS needs Settings for 'published' and for 'small'")


MODELS: Registry[type[NewsModel]] = Registry(
    "model",
    {
        "fednewsrec": "discreet.models.fednewsrec:FedNewsRecModel",
        "nrms": "discreet.models.nrms:NRMS",
        "naml": "discreet.models.naml:NAML",
        "fm": "discreet.models.fm:FM",
        "dfm": "discreet.models.dfm:DFM",
        "ebnr": "discreet.models.ebnr:EBNR",
        "dkn": "discreet.models.dkn:DKN",
        "dan": "discreet.models.dan:DAN",
        "npa": "discreet.models.npa:NPA",
        "plm_nr": "discreet.models.plm_nr:PLMNR",
        "bilinear": "discreet.models.bilinear:Bilinear",
    },
    _check,
)


def model_settings(name: str, preset: str = "published", **changes: Any) -> ModelSettings:
    """The settings of a preset (`published` or `small`) of a model, with some of them changed.

    Raises:
        DiscreetError: there is no such model, preset or setting, or a value does not fit.
    """
    return settings_with(name, preset, changes)


def settings_with(name: str, preset: str, changes: Mapping[str, Any]) -> ModelSettings:
    """`model_settings` for changes by any name, as others wrote them."""
    presets = MODELS[name].PRESETS
    if preset not in list(presets):  # a list compares and does not hash, whatever others wrote
        raise DiscreetError(f"unknown preset {shown(preset)}; choose one of {', '.join(presets)}")
    known = {field.name for field in fields(presets[preset])}
    if unknown := sorted(changes.keys() - known):
        raise DiscreetError(f"model {name} has no setting '{unknown[0]}'; it has {', '.join(sorted(known))}")
    kinds = get_type_hints(type(presets[preset]))
    typed = {key: checked_value(f"model {name}", key, value, kinds[key]) for key, value in changes.items()}
    typed |= {key: float(value) for key, value in typed.items() if kinds[key] is float}
    try:
        settings: ModelSettings = replace(presets[preset], **typed)
    except ValueError as error:
        raise DiscreetError(f"model {name}: {error}") from None
    return settings


def model_setting_schema(name: str, preset: str = "small") -> dict[str, dict[str, Any]]:
    """The type and the default of each setting of the model called `name`, at a preset."""
    settings = model_settings(name, preset)
    kinds = get_type_hints(type(settings))
    shown = {key: kind.__name__ if isinstance(kind, type) else str(kind) for key, kind in kinds.items()}
    return {key: {"type": shown[key], "default": value} for key, value in asdict(settings).items()}


def changed_settings(name: str, preset: str, settings: ModelSettings) -> dict[str, Any]:
    """What in `settings` is not as the preset has it: the inverse of `model_settings`."""
    usual = model_settings(name, preset)
    if type(settings) is not type(usual):
        raise DiscreetError(f"model {name} takes {type(usual).__name__}, not {type(settings).__name__}")
    return {key: value for key, value in asdict(settings).items() if value != getattr(usual, key)}


def model_needs(name: str, settings: ModelSettings) -> Needs:
    """What the model reads at these settings."""
    return MODELS[name].needs(settings)


def make_model(
    name: str,
    preset: str,
    table: ArticleTable,
    seed: int,
    *,
    word_vectors: NDArray[np.floating] | None = None,
    **changes: Any,
) -> NewsModel:
    """A new model for the articles of `table`: a preset's, with some settings changed. See `build_model`."""
    return build_model(name, model_settings(name, preset, **changes), table, seed, word_vectors=word_vectors)


def build_model(
    name: str,
    settings: ModelSettings,
    table: ArticleTable,
    seed: int,
    *,
    word_vectors: NDArray[np.floating] | None = None,
    start: bool = True,
) -> NewsModel:
    """A new model for the articles of `table`, the same for the same seed.

    `word_vectors` [words, size] are public vectors of the vocabulary, in its order. They set the length of the model's
    word vectors and stay as they are, unless `train_words` is True. A model that reads words and is given no vectors
    for them starts from random ones and learns them, unless `train_words` is False. The same goes for the entities of
    a table, which brings their vectors. Without `start` the model takes nothing from public articles: what it had taken
    is about to be loaded.
    """
    if isinstance(settings, WordSettings):
        trained = word_vectors is None if settings.train_words is None else settings.train_words
        size = settings.word_size if word_vectors is None else word_vectors.shape[1]
        settings = replace(settings, train_words=trained, word_size=size)
    if isinstance(settings, EntitySettings):
        trained = table.entity_vectors is None if settings.train_entities is None else settings.train_entities
        size = settings.entity_size if table.entity_vectors is None else table.entity_vectors.shape[1]
        settings = replace(settings, train_entities=trained, entity_size=size)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = MODELS[name](settings, table.sizes)
    if word_vectors is not None:
        for _, words in _word_tables(model):
            words.fill(word_vectors)
    if table.entity_vectors is not None:
        for entities in (module for module in model.modules() if isinstance(module, EntityEmbedding)):
            entities.vectors.data.copy_(table.entity_vectors)
    if start:
        model.start_from(table)
    return model


def fixed_parts(model: NewsModel) -> dict[str, Tensor]:
    """What a model took from public articles and never trains: its persistent buffers, but for words' vectors."""
    words = {f"{name}.vectors" for name, _ in _word_tables(model)}
    kept = model.state_dict().keys() - words
    return {name: buffer for name, buffer in model.named_buffers() if name in kept}


def fixed_words(model: NewsModel) -> NDArray[np.float32] | None:
    """The vectors of words that a model reads and does not train; None where there are none."""
    for _, words in _word_tables(model):
        if not isinstance(words.vectors, torch.nn.Parameter):
            return np.asarray(words.vectors.cpu().numpy(), np.float32)
    return None


def describe_model(model: NewsModel) -> dict[str, Any]:
    """Plain JSON values from which `remake_model` makes the model again; its parameters are its `state_dict`."""
    return {"model": model.name, "settings": asdict(model.settings), "sizes": asdict(model.sizes)}


def remake_model(description: Mapping[str, Any]) -> NewsModel:
    """A model as described, ready for `load_state_dict`."""
    kind = MODELS[description["model"]]
    settings = replace(kind.PRESETS["published"], **description["settings"])
    return kind(settings, TableSizes(**description["sizes"]))


def _word_tables(model: NewsModel) -> list[tuple[str, WordEmbedding]]:
    return [(name, module) for name, module in model.named_modules() if isinstance(module, WordEmbedding)]
