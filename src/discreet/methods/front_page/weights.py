"""How much each feature counts. The weights are public: no reader's click was used to fit them.

Popularity is a log rate, so its weight is 1: a slate's clicks are shared in proportion to e^score. The weights of the
other features maximise the likelihood of clicks in generated worlds, with popularity as it is. `refit` fits them again.

The first four are fitted without the last one, so that they are right where articles have no subcategories. The last is
from a fit of all five in one world (5,000 readers, seed 7), where the category counts for 0.37; MIND, without
subcategories, wants 0.16. `refit` fits the last on top of the others, which may give a slightly different weight.
"""

from __future__ import annotations

import numpy as np

PUBLIC_WEIGHTS = np.array([0.30, 0.10, 0.24, 0.15, 0.42])
"""For `history_features.FEATURES`, in their order."""

FISHER = np.array(
    [
        [1.4, 1.0, 0.3, 0.0, 0.2, 0.0],
        [1.0, 2.0, 0.3, 0.0, 0.4, 0.0],
        [0.3, 0.3, 0.6, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.8, 0.0, 0.0],
        [0.2, 0.4, 0.0, 0.0, 0.8, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.15],
    ]
)
"""What a slate with a click tells of the weights, and of popularity's, in a generated world: their Fisher information.

It is the mean covariance of the features within a slate, under the soft-max of the scores."""

HEAD_FISHER = 0.12
"""The same of each direction of a head, over its squared unit: the variance of articles in it. Directions hardly go
together."""
HEAD_WITH_FEATURES = np.array([0.02, 0.03, 0.015, 0.0, 0.025, 0.0])
"""What a slate tells of each direction and of each feature together, over that unit."""
HEAD_DEVIATION = 0.05
"""How much the weights of directions vary, times that unit."""
HEAD_UNCLIPPED = 2.0
"""Clipping (`protocol.weight_cells.MAX_HEAD_PULL`) halves the mean of a head's gradients, and quarters their variance:
what is released is multiplied with this, and then both are as they were."""
