"""A pre-trained language model of the BERT family whose last layers are trained, and its tokens; always offline."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from discreet.data.news import Articles
from discreet.errors import DiscreetError, install_command
from discreet.models.features import ArticleTable
from discreet.models.layers import log_copies
from discreet.models.news_model import TableSizes
from discreet.text.frozen_language_model import LanguageModel, installed_language_model


class TrainableLanguageModel(nn.Module):
    """Tokens in context [n, tokens, size]. Embeddings and lower layers are frozen; there is no dropout."""

    def __init__(self, folder: str, trainable_layers: int) -> None:
        super().__init__()
        self.body = _load_body(_folder(folder))
        layers = getattr(getattr(self.body, "encoder", None), "layer", None)
        if layers is None:
            raise DiscreetError(f"{folder}: not a language model of the BERT family")
        if trainable_layers > len(layers):
            raise DiscreetError(f"{folder}: has {len(layers)} layers, not {trainable_layers}")
        self.body.requires_grad_(False)
        for layer in layers[-trainable_layers:]:
            layer.requires_grad_(True)
        for module in self.body.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0
        self.size: int = self.body.config.hidden_size

    def forward(self, tokens: Tensor, there: Tensor) -> Tensor:
        """The vectors of tokens [n, tokens] in the context of those that are `there`."""
        hidden: Tensor = self.body.embeddings(input_ids=tokens)
        mask = log_copies(there, hidden)[:, None, None, :]
        for layer in self.body.encoder.layer:
            hidden = layer(hidden, mask)
        return hidden


def token_table(articles: Articles, title_words: int, folder: str = "") -> ArticleTable:
    """A table of titles as the tokens of a language model, for `PLMNR` with trainable layers."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(_folder(folder), local_files_only=True)
    if tokenizer.pad_token_id != 0:
        raise DiscreetError(f"{folder}: its padding token is number {tokenizer.pad_token_id}, not 0")
    return ArticleTable(TableSizes(words=len(tokenizer)), titles=_tokens(tokenizer, articles.titles, title_words))


def _tokens(tokenizer: Any, titles: Sequence[str], length: int) -> Tensor:
    matrix = np.zeros((len(titles), length), dtype=np.int32)
    for row, ids in enumerate(
        tokenizer(list(titles), truncation=True, max_length=length)["input_ids"] if titles else []
    ):
        if titles[row].strip():
            matrix[row, : len(ids)] = ids
    return torch.as_tensor(matrix)


def _load_body(folder: Path) -> Any:
    """The model as transformers has it, in float32, with attention that `vmap` can pass through."""
    from transformers import AutoModel

    logging: Any = importlib.import_module("transformers.utils.logging")
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        return AutoModel.from_pretrained(
            folder, attn_implementation="eager", dtype=torch.float32, local_files_only=True, use_safetensors=True
        )
    finally:
        if bars:
            logging.enable_progress_bar()


def _folder(folder: str) -> Path:
    """The folder of a language model: the one given, or that of the installed package."""
    if folder:
        return LanguageModel(Path(folder)).folder
    installed = installed_language_model()
    if installed is None:
        raise DiscreetError(f"no language model is installed; name a folder with one, or run: {install_command('lm')}")
    return LanguageModel(installed).folder
