"""Entities, parallel to the words that name them: a title's words and its entities are two rows of equal length."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from discreet.data.news import Articles
from discreet.errors import DiscreetError
from discreet.text.words import Vocabulary


def title_entities(articles: Articles) -> list[str]:
    """All entities that titles name.

    Raises:
        DiscreetError: they name none.
    """
    entities = articles.entities
    found: set[int] = set()
    if entities is not None:
        found = {int(number) for number, surface in zip(entities.entity, entities.surface, strict=True) if surface}
    if entities is None or not found:
        raise DiscreetError("this model reads the entities of titles, and the data set names none")
    return [entities.names[number] for number in sorted(found)]


def aligned_entities(articles: Articles, known: Sequence[str], vocabulary: Vocabulary, title_words: int) -> Tensor:
    """For each word of each title [articles, words] the entity that it is part of: its place among those known, from 1.

    An entity stands wherever the words of one of its surface forms stand in the title, one after the other.
    """
    number = {name: place for place, name in enumerate(known, start=1)}
    matrix = torch.zeros(len(articles), title_words, dtype=torch.int64)
    entities = articles.entities
    if entities is None:
        return matrix
    for row, title in enumerate(articles.titles):
        if entities.first[row] == entities.first[row + 1]:
            continue
        words = vocabulary.numbers(title)[:title_words]
        for name, surface in entities.of(row):
            form = vocabulary.numbers(surface)
            for start in range(len(words) - len(form) + 1) if form and name in number else ():
                if words[start : start + len(form)] == form:
                    matrix[row, start : start + len(form)] = number[name]
    return matrix


def public_vectors(articles: Articles, known: Sequence[str]) -> Tensor | None:
    """The public vectors of the entities known [1 + known, size], the first one zero; None where there are none."""
    entities = articles.entities
    if entities is None or entities.vectors is None:
        return None
    place = {name: row for row, name in enumerate(entities.names)}
    matrix = torch.zeros(1 + len(known), entities.vectors.shape[1])
    for row, name in enumerate(known, start=1):
        if name in place:
            matrix[row] = torch.from_numpy(entities.vectors[place[name]])
    return matrix
