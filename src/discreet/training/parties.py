"""Those who add up together in a round."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.aggregation.secure_sum.sum_plan import COLLUDING


@dataclass(frozen=True)
class Parties:
    """Those who add up together.

    Attributes:
        invited: how many were asked.
        quorum: the smallest number of parties whose sum is opened.
        known: how many there are, invited or not.
    """

    invited: int
    quorum: int
    known: int = 0

    @property
    def colluders(self) -> int:
        """How many know the noise of their own part, and tell it: a tenth of all, invited or not.

        One at least, for every party sees the model, and could look for the others' readers in it.
        """
        return max(1, int(COLLUDING * max(self.invited, self.known)))
