"""Audits of what vendors share of purchases: the adversary and the shipped path are those of `audits.sharing`."""

from __future__ import annotations

import numpy as np

from discreet.audits.audit_registry import Audit, register
from discreet.audits.noninterference import NonInterference
from discreet.audits.sharing import user_added, vendor_of
from discreet.data.ratings import Ratings
from discreet.privacy.guarantee import Status
from discreet.privacy.noise import SimulatedNoise
from discreet.vendors.implicit.sharing.purchase_plan import converse
from discreet.vendors.implicit.sharing.purchase_rounds import Sales, SalesPairs, SalesProjections
from discreet.vendors.sharing.contributions import Integers
from discreet.vendors.sharing.sharing_budget import SharingBudget
from discreet.vendors.sharing.sharing_rounds import Round, Vendor

_ITEMS = 10
_EVERY = np.arange(_ITEMS)
_ROUNDS: tuple[Round, ...] = (
    Sales(0.3),
    SalesPairs(0.3, _EVERY),
    SalesProjections(0.4, _EVERY, np.full((_ITEMS, 1), _ITEMS**-0.5), _EVERY),
)


def questions(home: Ratings, releases: tuple[int, ...]) -> bytes:
    """Which questions are asked, and how long the answers are, when the releases are given."""
    budget = SharingBudget(10.0, 1e-5, vendors=2)
    parties = [Vendor(home, budget, SimulatedNoise(1)), Vendor(vendor_of(((5, 5),)), budget, SimulatedNoise(2))]
    sent: list[bytes] = []

    def ask(asked: Round) -> Integers:
        sizes = [len(party.answer(asked).values) for party in parties]
        sent.append(repr((type(asked).__name__, asked.share, sizes)).encode())
        sent.extend(part.tobytes() for part in vars(asked).values() if isinstance(part, np.ndarray))
        return np.resize(np.array(releases, np.int64), sizes[0])

    converse(ask, budget, _ITEMS)
    return b"|".join(sent)


_HOMES = (vendor_of(((5, 3, 4, 1),)), vendor_of(((1,) * _ITEMS,) * 7), vendor_of(((0, 5), (4,), (3, 3))))
register(user_added(_ROUNDS[:1], 1.0, "a user added, sales alone, ε=1", 40_000, "implicit sharing"))
register(user_added(_ROUNDS, 1.0, "a user added, all rounds, one colluder, ε=1", 20_000, "implicit sharing"))
register(user_added(_ROUNDS, 10.0, "a user added, all rounds, one colluder, ε=10", 20_000, "implicit sharing"))
for _releases, _which in (((2**36, -(2**37), 2**35), "noise"), ((2**45, 2**44, 3 * 2**44, 2**43), "directions")):
    _examination = NonInterference(questions, _HOMES, _releases)
    register(Audit("implicit sharing", f"questions asked, {_which}", Status.PROVED, 0.0, _examination))
