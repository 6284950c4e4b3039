"""How much each feature counts. The weights are public: no reader's click was used to fit them.

Popularity is a log rate, so its weight is 1: a slate's clicks are shared in proportion to e^score. The weights of the
other features maximise the likelihood of clicks in generated worlds, with popularity as it is. `refit` fits them again.

The first four are fitted without the last one, which is fitted on top of them: so they are right where articles have no
subcategories. Fitted all at once, the category counts for 0.37, where MIND, without subcategories, wants 0.16.
"""

from __future__ import annotations

import numpy as np

PUBLIC_WEIGHTS = np.array([0.30, 0.10, 0.24, 0.15, 0.42])
"""For `history_features.FEATURES`, in their order."""
