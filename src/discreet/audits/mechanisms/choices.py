"""Mechanisms that choose: by their exact probabilities at small sizes, and from outputs at the size of a slate."""

from __future__ import annotations

from itertools import product

from discreet.audits.audit_registry import register
from discreet.audits.claims import between, exactly
from discreet.audits.scores import Contains, likelier_by_frequency
from discreet.privacy.mechanisms.exponential import Exponential
from discreet.privacy.mechanisms.label_permutation import LabelPermutation
from discreet.privacy.mechanisms.level_bits import LevelBits
from discreet.privacy.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy.mechanisms.subset_selection import SubsetSelection

_SLATE = 37

for _epsilon in (1.0, 3.0, 10.0):
    register(exactly(RandomizedResponse(epsilon=_epsilon, choices=6), range(6), f"C=6 ε={_epsilon:g}"))
    register(
        between(
            RandomizedResponse(epsilon=_epsilon, choices=_SLATE),
            0,
            1,
            f"C={_SLATE} ε={_epsilon:g}",
            runs=400_000 if _epsilon > 5 else 200_000,
            scores=(likelier_by_frequency,),
        )
    )

for _epsilon in (0.5, 3.0):
    register(exactly(SubsetSelection(epsilon=_epsilon, choices=6), range(6), f"C=6 ε={_epsilon:g}"))
    register(
        between(
            SubsetSelection(epsilon=_epsilon, choices=_SLATE),
            0,
            1,
            f"C={_SLATE} ε={_epsilon:g}",
            runs=40_000,
            scores=(Contains(0, 1),),
        )
    )

for _epsilon in (1.0, 3.0):
    _bits = LevelBits(epsilon=_epsilon, features=2, levels=3)
    register(exactly(_bits, list(product(range(3), repeat=2)), f"K=2 L=3 ε={_epsilon:g} each"))

for _epsilon in (1.0, 5.0):
    _mechanism = Exponential(epsilon=_epsilon, choices=3, score_sensitivity=0.1)
    register(exactly(_mechanism, list(product((0.3, 0.4), repeat=3)), f"C=3 ε={_epsilon:g}"))

for _epsilon in (1.0, 3.0, 10.0):
    _labels = LabelPermutation(epsilon=_epsilon, choices=5, negatives=2)
    register(exactly(_labels, range(5), f"C=5 k=2 ε={_epsilon:g}, as published"))
for _epsilon in (1.0, 3.0):
    _labels = LabelPermutation(epsilon=_epsilon, choices=_SLATE, negatives=4)
    _setting = f"C={_SLATE} k=4 ε={_epsilon:g}, as published"
    register(between(_labels, 0, 1, _setting, runs=40_000, scores=(Contains(0, 1),)))
