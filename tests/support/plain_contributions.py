"""Vectors as contributions that promise nothing, for tests of how sums are made."""

from discreet.aggregation.contribution import Contribution
from discreet.privacy.guarantee import Guarantee, Scope

NOTHING = Guarantee.unprotected("plain vectors", Scope.ROUND)


def plain(vector):
    return Contribution(vector, NOTHING)
