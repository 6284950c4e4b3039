"""A reader's raw vector from one client's gradient of the basis, where word vectors are frozen or there are none.

With weights w = ReLU(α + noise)/Σ over the basis b₁ … b_B and logits ⟨u, bⱼ⟩/√d, the scored vector is ŭ = Σ wⱼ bⱼ, so

    ∇bⱼ = wⱼ·g + cⱼ·u    with  g = ∂L/∂ŭ,  cⱼ = ∂L/∂logitⱼ/√d.

Weights sum to 1 and a soft-max's logit gradients to 0: the rows add up to g. A weight that the noise has pushed below 0
leaves a row that is cⱼ·u and nothing else, the raw vector up to its length and sign. If there is none, taking g out of
the rows leaves u's part across g, which in many dimensions is nearly all of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.audits.leak.update import AuditedFederation
from discreet.methods.method import TrainingTask
from discreet.methods.published.privaterec import PrivateRec

_ALONG = 0.8
"""A row that is less along g than this (in cosine) has no part of g."""

_ROUNDING = 1e-5
"""What is smaller than this share of a gradient is its float32 rounding."""


@dataclass(frozen=True)
class VectorLeak:
    """How well readers' raw vectors were read off their gradients.

    Attributes:
        claimed_epsilon: What the paper says one update costs.
        readers: How many readers' updates there were.
        reached: The share of updates whose gradient tells of the reader's vector at all.
        cosine: In these, the mean |cosine| between what the adversary computes and the raw vector.
        median: The median of the same.
        exact: The share of these with |cosine| above 0.999.
    """

    claimed_epsilon: float
    readers: int
    reached: float
    cosine: float
    median: float
    exact: float


def direction(gradient: NDArray[np.floating]) -> NDArray[np.float64] | None:
    """The reader's vector up to length and sign, from the gradient [B, d] of the basis; None if it does not tell."""
    rows = np.asarray(gradient, dtype=np.float64)
    rows = rows[rows.any(axis=1)]
    total = rows.sum(axis=0)
    if not total.any():
        return None
    along = total / np.linalg.norm(total)
    cosines = np.abs(rows @ along) / np.linalg.norm(rows, axis=1)
    if cosines.min() < _ALONG:
        return np.asarray(rows[cosines.argmin()])
    across = rows - np.outer(rows @ along, along)
    if np.linalg.norm(across) < _ROUNDING * np.linalg.norm(rows):
        return None
    return np.asarray(np.linalg.svd(across, full_matrices=False)[2][0])


def vector_leak(task: TrainingTask, epsilon: float, *, readers: int = 40, seed: int = 0) -> VectorLeak:
    """Watch one update of each reader, PLM-NR over frozen text vectors, and compare with the raw vectors."""
    watched = AuditedFederation.start(PrivateRec(model="plm_nr", epsilon=epsilon), task, seed)
    chosen = watched.clients_with_history()[:readers].tolist()
    cosines = []
    for client in chosen:
        samples = watched.draw(client, 0)
        found = direction(watched.update(samples)["basis"].numpy())
        vectors = watched.reader_vectors(samples).double().numpy()
        if found is not None and len(vectors) == 1 and vectors.any():
            lengths = np.linalg.norm(found) * np.linalg.norm(vectors[0])
            cosines.append(abs(float(found @ vectors[0])) / lengths)
    return VectorLeak(
        claimed_epsilon=epsilon,
        readers=len(chosen),
        reached=len(cosines) / max(1, len(chosen)),
        cosine=float(np.mean(cosines)) if cosines else 0.0,
        median=float(np.median(cosines)) if cosines else 0.0,
        exact=float(np.mean(np.array(cosines) > 0.999)) if cosines else 0.0,
    )
