"""The server's part in one secure sum: it collects, passes on, adds up and takes the masks away.

It takes what arrives with `receive`, in any order within a step, and closes the step when it has waited long enough.
Masked inputs are added to a running sum as they come and then forgotten.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from discreet.aggregation.secure_sum import keys
from discreet.aggregation.secure_sum.masks import DTYPES, Vector, add_mask, signed
from discreet.aggregation.secure_sum.refusals import (
    Duplicate,
    MalformedMessage,
    MalformedShare,
    OutOfTurn,
    Replay,
    SurvivorsDisagree,
    TooFewClients,
    UnknownClient,
)
from discreet.aggregation.secure_sum.secret_sharing import join, secret_to_bytes, share_from_bytes
from discreet.aggregation.secure_sum.sum_messages import (
    Advertised,
    Advertisement,
    Delivery,
    KeyShares,
    MaskedInput,
    SignedMessage,
    SurvivorAgreement,
    SurvivorAgreements,
    Survivors,
    Unmasking,
)
from discreet.aggregation.secure_sum.sum_terms import Step, SumTerms, survivors_digest
from discreet.privacy.guarantee import Guarantee

EXPECTED: dict[Step, type[SignedMessage]] = {
    Step.ADVERTISE: Advertisement,
    Step.SHARE: KeyShares,
    Step.MASK: MaskedInput,
    Step.AGREE: SurvivorAgreement,
    Step.UNMASK: Unmasking,
}
"""What clients send at each step."""


class SumResult(NamedTuple):
    """The sum mod 2^bits of the survivors' contributions, who they are, and what those were promised."""

    residues: Vector
    survivors: tuple[int, ...]
    guarantee: Guarantee

    @property
    def values(self) -> NDArray[np.int64]:
        """The sum as integers from −2^(bits−1) to 2^(bits−1) − 1, right if it did not wrap around."""
        return signed(self.residues)


class SumServer:
    """The server in one round.

    Attributes:
        step: what the server is collecting.
    """

    def __init__(self, terms: SumTerms, guarantee: Guarantee) -> None:
        """Invite clients.

        Args:
            terms: the terms of the round.
            guarantee: what those who contribute are promised, by the noise in their contributions.
        """
        self._guarantee = guarantee
        self.step = Step.ADVERTISE
        self._terms = terms
        self._context = terms.digest
        self._present = frozenset(terms.roster)
        self._arrived: set[int] = set()
        self._advertisements: dict[int, Advertisement] = {}
        self._shares: dict[int, KeyShares] = {}
        self._sum = np.zeros(terms.length, DTYPES[terms.bits])
        self._agreements: dict[int, SurvivorAgreement] = {}
        self._key_shares: dict[int, dict[int, int]] = {}
        self._seed_shares: dict[int, dict[int, int]] = {}

    def receive(self, message: SignedMessage) -> None:
        """Take a client's message.

        Raises:
            Refused: by its name, if the message cannot count; it has then changed nothing.
        """
        expected = EXPECTED.get(self.step)
        if expected is None or not isinstance(message, expected):
            raise OutOfTurn(f"{type(message).__name__} of client {message.sender} has come at step {self.step.name}")
        if message.context != self._context:
            raise Replay(message.sender)
        if message.sender not in self._present:
            raise UnknownClient(message.sender)
        if message.sender in self._arrived:
            raise Duplicate(f"client {message.sender} has already answered at step {self.step.name}")
        message.check(self._terms.roster[message.sender])
        match message:
            case Advertisement():
                self._take_keys(message)
            case KeyShares():
                self._take_shares(message)
            case MaskedInput():
                self._add(message)
            case SurvivorAgreement():
                self._take_agreement(message)
            case Unmasking():
                self._take_unmasking(message)
        self._arrived.add(message.sender)

    def advertised(self) -> Advertised:
        """Close step 0: everybody's keys, for everybody."""
        self._close(Step.ADVERTISE, self._terms.plan.quorum)
        listed = tuple(self._advertisements[u] for u in sorted(self._present))
        message = Advertised(context=self._context, advertisements=listed)
        self._context = self._terms.session(message)
        self._neighbours = self._terms.neighbours(self._context)
        return message

    def deliveries(self) -> dict[int, Delivery]:
        """Close step 1: to each client the shares that were sealed for it."""
        self._close(Step.SHARE, self._terms.plan.quorum)
        self._sharers = self._present
        inboxes: dict[int, list[tuple[int, bytes]]] = {u: [] for u in self._sharers}
        for sender in sorted(self._sharers):
            for receiver, sealed in self._shares[sender].sealed:
                if receiver in inboxes:
                    inboxes[receiver].append((sender, sealed))
        everybody = tuple(sorted(self._sharers))
        return {
            u: Delivery(context=self._context, receiver=u, sharers=everybody, sealed=tuple(inbox))
            for u, inbox in inboxes.items()
        }

    def survivors(self) -> Survivors:
        """Close step 2: a client without a masked input by now is out, even if its input arrives later."""
        self._close(Step.MASK, self._terms.plan.quorum)
        self._survivors = self._present
        self._digest = survivors_digest(self._context, self._sharers, self._survivors)
        return Survivors(context=self._context, clients=tuple(sorted(self._survivors)))

    def agreements(self) -> SurvivorAgreements:
        """Close step 3: what the survivors have signed."""
        self._close(Step.AGREE, self._terms.plan.quorum)
        listed = tuple(one for _, one in sorted(self._agreements.items()))
        return SurvivorAgreements(context=self._context, agreements=listed)

    def total(self) -> SumResult:
        """Close step 4: Σ x_u = Σ y_u − Σ PRG(b_u) ∓ Σ PRG(s_uv), u surviving, v its neighbours that dropped out.

        Raises:
            TooFewClients: if a secret cannot be rebuilt from the shares that have come; more may still come.
            MalformedShare: if one was rebuilt wrongly, because some client has sent a wrong share.
        """
        if self.step != Step.UNMASK:
            raise OutOfTurn(f"the server is at step {self.step.name}, not UNMASK")
        seeds = {u: self._rebuilt_seed(u) for u in sorted(self._survivors)}
        gone = [v for v in sorted(self._sharers - self._survivors) if self._neighbours[v] & self._survivors]
        masking = {v: self._rebuilt_key(v) for v in gone}
        for u, seed in seeds.items():
            add_mask(self._sum, keys.self_mask_key(seed, u, self._context), subtract=True)
        for v, key in masking.items():
            for u in self._neighbours[v] & self._survivors:
                public = self._advertisements[u].masking_key
                add_mask(self._sum, keys.pair_mask_key(key, v, u, public, self._context), subtract=u < v)
        self.step = Step.DONE
        return SumResult(self._sum, tuple(sorted(self._survivors)), self._guarantee)

    def _close(self, step: Step, needed: int) -> None:
        """End a step, if enough clients have answered; those that have not are no longer present."""
        if self.step != step:
            raise OutOfTurn(f"the server is at step {self.step.name}, not {step.name}")
        if len(self._arrived) < needed:
            raise TooFewClients(f"step {step.name}", len(self._arrived), needed)
        if step != Step.AGREE:
            self._present = frozenset(self._arrived)
        self._arrived = set()
        self.step = Step(step + 1)

    def _take_keys(self, message: Advertisement) -> None:
        """Keep the keys, unless they are such that every neighbour would have to stop."""
        fresh = {message.sealing_key, message.masking_key}
        taken = {key for one in self._advertisements.values() for key in (one.sealing_key, one.masking_key)}
        if len(fresh) != 2 or fresh & taken:
            raise Duplicate(f"client {message.sender} has advertised a key that is there already")
        for key in fresh:
            keys.agree(X25519PrivateKey.generate(), message.sender, key)
        self._advertisements[message.sender] = message

    def _take_shares(self, message: KeyShares) -> None:
        wanted = self._neighbours[message.sender] & self._advertisements.keys()
        if {receiver for receiver, _ in message.sealed} != wanted:
            raise MalformedShare(f"client {message.sender} has not sent a share to each of its neighbours")
        self._shares[message.sender] = message

    def _add(self, message: MaskedInput) -> None:
        if len(message.residues) != self._sum.nbytes:
            raise MalformedMessage(f"the masked input of client {message.sender} has the wrong length")
        self._sum += np.frombuffer(message.residues, self._sum.dtype)

    def _take_agreement(self, message: SurvivorAgreement) -> None:
        if message.digest != self._digest:
            raise SurvivorsDisagree(f"client {message.sender} has signed other survivors")
        self._agreements[message.sender] = message

    def _take_unmasking(self, message: Unmasking) -> None:
        held = (self._neighbours[message.sender] | {message.sender}) & self._sharers
        key_shares = {owner: share_from_bytes(share) for owner, share in message.key_shares}
        seed_shares = {owner: share_from_bytes(share) for owner, share in message.seed_shares}
        if key_shares.keys() != held - self._survivors or seed_shares.keys() != held & self._survivors:
            raise MalformedShare(f"client {message.sender} has not sent just the shares that are needed")
        for kept, given in ((self._key_shares, key_shares), (self._seed_shares, seed_shares)):
            for owner, share in given.items():
                kept.setdefault(owner, {})[message.sender] = share

    def _rebuilt_seed(self, client: int) -> bytes:
        seed = secret_to_bytes(join(self._seed_shares.get(client, {}), self._terms.plan.threshold))
        if keys.seed_check(seed, client, self._context) != self._shares[client].seed_check:
            raise MalformedShare(f"the shares of the seed of client {client} do not rebuild it")
        return seed

    def _rebuilt_key(self, client: int) -> X25519PrivateKey:
        secret = secret_to_bytes(join(self._key_shares.get(client, {}), self._terms.plan.threshold))
        key = X25519PrivateKey.from_private_bytes(secret)
        if key.public_key().public_bytes_raw() != self._advertisements[client].masking_key:
            raise MalformedShare(f"the shares of the masking key of client {client} do not rebuild it")
        return key
