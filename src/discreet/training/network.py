"""A model as pure functions of its parameters: the same skeleton serves every client, each with values of its own."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from discreet.models.news_model import ArticleBatch, NewsModel
from discreet.training.objective import Parameters
from discreet.training.torch_device import chosen_device


class Network:
    """The encoders of a model, called with explicit parameters. What the model does not train stays in the model.

    It lives on the device that was chosen when it was made. Parameters are copied out of it to main memory.
    """

    def __init__(self, model: NewsModel) -> None:
        self.device = chosen_device()
        self.model = model.to(self.device)
        self.candidate_aware = type(model).needs(model.settings).candidate_aware
        self._calls = _Calls(model)
        self._names = [name for name, value in model.named_parameters() if value.requires_grad]

    def twin(self) -> Network:
        """The same network with parameters of its own; what is not trained is shared."""
        fixed = {id(buffer): buffer for buffer in self.model.buffers()}
        return type(self)(copy.deepcopy(self.model, fixed))

    def parameters(self) -> Parameters:
        """A copy of all that the model trains, by name, as it stands in the model now."""
        own = dict(self.model.named_parameters())
        return {name: own[name].detach().clone().cpu() for name in self._names}

    def load(self, parameters: Mapping[str, Tensor]) -> NewsModel:
        """Write parameters back into the model (those of other names belong to the method) and return it."""
        own = dict(self.model.named_parameters())
        with torch.no_grad():
            for name in self._names:
                own[name].copy_(parameters[name])
        return self.model

    def encode_articles(self, parameters: Mapping[str, Tensor], batch: ArticleBatch) -> Tensor:
        """The articles' vectors [n, size]."""
        return self._call(parameters, "encode_articles", batch)

    def encode_batches(self, parameters: Mapping[str, Tensor], batches: Sequence[ArticleBatch]) -> Tensor:
        """The vectors of the articles of several batches, one after the other."""
        return self._call(parameters, "encode_batches", batches)

    def encode_readers(
        self, parameters: Mapping[str, Tensor], clicks: Tensor, copies: Tensor, reader: Tensor | None = None
    ) -> Tensor:
        """Readers' vectors from clicks' vectors [n, clicks, size], each standing for `copies` clicks.

        `reader` [n] are the readers' numbers, where the model knows them.
        """
        known = () if reader is None else (reader,)
        return self._call(parameters, "encode_readers", clicks, copies, *known)

    def score(self, parameters: Mapping[str, Tensor], readers: Tensor, candidates: Tensor) -> Tensor:
        """Scores [n, candidates] of readers' vectors with candidates' [n, candidates, size]."""
        if type(self.model).score is NewsModel.score:
            return self.model.score(readers, candidates)  # a dot product: no parameters to put in
        return self._call(parameters, "score", readers, candidates)

    def match(self, parameters: Mapping[str, Tensor], clicks: Tensor, copies: Tensor, candidates: Tensor) -> Tensor:
        """Scores [n, candidates] of a model whose readers depend on the candidate."""
        return self._call(parameters, "match", clicks, copies, candidates)

    def _call(self, parameters: Mapping[str, Tensor], what: str, *arguments: Any) -> Tensor:
        values = {f"model.{name}": parameters[name] for name in self._names}
        result: Tensor = torch.func.functional_call(self._calls, values, (what, *arguments))
        return result


class _Calls(nn.Module):
    """`functional_call` calls a module; this one passes the call on to a method of the model."""

    def __init__(self, model: NewsModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, what: str, *arguments: Any) -> Tensor:
        result: Tensor = getattr(self.model, what)(*arguments)
        return result
