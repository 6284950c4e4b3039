"""How much each feature counts. The weights are public: no reader's click was used to fit them.

Popularity is a log rate, so its weight is 1: a slate's clicks are shared in proportion to e^score. The weights of the
other features maximise the likelihood of clicks in generated worlds, with popularity as it is. `refit` fits them again.
It gives 0.30, 0.10, 0.24 and 0.16, for these weights are older than how devices draw among the clicks of a window.
"""

from __future__ import annotations

import numpy as np

PUBLIC_WEIGHTS = np.array([0.30, 0.10, 0.24, 0.15])
"""For `features.FEATURES`, in their order."""
