"""A client's part in one secure sum (Bonawitz et al. 2017; neighbours as in Bell et al. 2020).

Five steps, each taken once and in order. A step that refuses has revealed nothing, and the client stops there.
"""

from __future__ import annotations

import secrets

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.secure_sum import keys
from discreet.aggregation.secure_sum.keys import Identity
from discreet.aggregation.secure_sum.masks import add_mask, to_lattice
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
from discreet.aggregation.secure_sum.secret_sharing import (
    SECRET_BYTES,
    SHARE_BYTES,
    share_from_bytes,
    share_to_bytes,
    split,
)
from discreet.aggregation.secure_sum.sum_messages import (
    Advertised,
    Advertisement,
    Delivery,
    KeyShares,
    MaskedInput,
    SumMessage,
    SurvivorAgreement,
    SurvivorAgreements,
    Survivors,
    Unmasking,
)
from discreet.aggregation.secure_sum.sum_terms import Step, SumTerms, survivors_digest


class SumClient:
    """One client in one round.

    Attributes:
        step: what the client will do next.
    """

    def __init__(self, terms: SumTerms, identity: Identity) -> None:
        """Accept the invitation.

        Args:
            terms: the terms of the round, with a roster that does not come from the server.
            identity: the client's own number and signing key, which must be in the roster.
        """
        if terms.roster.get(identity.client) != identity.public:
            raise UnknownClient(identity.client)
        self.step = Step.ADVERTISE
        self._terms = terms
        self._identity = identity
        self._me = identity.client

    def advertise(self) -> Advertisement:
        """Step 0: make two key pairs for this round, and say their public halves."""
        self._expect(Step.ADVERTISE)
        self._sealing = X25519PrivateKey.generate()
        self._masking = X25519PrivateKey.generate()
        self._advertisement = Advertisement(
            context=self._terms.digest,
            sender=self._me,
            sealing_key=self._sealing.public_key().public_bytes_raw(),
            masking_key=self._masking.public_key().public_bytes_raw(),
        ).signed(self._identity)
        self.step = Step.SHARE
        return self._advertisement

    def share_keys(self, advertised: Advertised) -> KeyShares:
        """Step 1: draw the seed of the own mask; share it and the masking key among the neighbours, sealed for each."""
        self._expect(Step.SHARE)
        self._check_advertised(advertised)
        session = self._terms.session(advertised)
        near = self._terms.neighbours(session)[self._me]
        neighbours = {one.sender: one for one in advertised.advertisements if one.sender in near}
        for one in neighbours.values():
            one.check(self._terms.roster[one.sender])
        self._enough("neighbours with keys", len(neighbours) + 1, self._terms.plan.threshold)
        self._session, self._neighbours = session, neighbours
        self._seed = secrets.token_bytes(SECRET_BYTES)
        holders, threshold = [self._me, *sorted(neighbours)], self._terms.plan.threshold
        key_shares = split(int.from_bytes(self._masking.private_bytes_raw(), "little"), holders, threshold)
        seed_shares = split(int.from_bytes(self._seed, "little"), holders, threshold)
        self._seed_shares = {self._me: share_to_bytes(seed_shares[self._me])}
        self._secrets = {v: keys.agree(self._sealing, v, one.sealing_key) for v, one in neighbours.items()}
        sealed = tuple(
            (v, keys.seal(self._secrets[v], session, self._me, v, _pack(key_shares[v], seed_shares[v])))
            for v in holders[1:]
        )
        self.step = Step.MASK
        check = keys.seed_check(self._seed, self._me, session)
        return KeyShares(context=session, sender=self._me, seed_check=check, sealed=sealed).signed(self._identity)

    def check(self, delivery: Delivery) -> None:
        """Refuse a delivery that `mask` would refuse: for an input that has a price, and is made only if it can go."""
        self._expect(Step.MASK)
        self._opened(delivery)

    def mask(self, delivery: Delivery, contribution: Contribution) -> MaskedInput:
        """Step 2: y_u = x_u + PRG(b_u) + Σ_{v>u} PRG(s_uv) − Σ_{v<u} PRG(s_uv) mod 2^bits, over neighbours v.

        Only neighbours that have shared their keys count, since the masks of others could never be taken away.
        """
        self._expect(Step.MASK)
        residues = to_lattice(contribution.values, self._terms.bits)
        if len(residues) != self._terms.length:
            raise ValueError(f"the round sums vectors of {self._terms.length} entries, not {len(residues)}")
        opened = self._opened(delivery)
        add_mask(residues, keys.self_mask_key(self._seed, self._me, self._session))
        for v in opened:
            key = keys.pair_mask_key(self._masking, self._me, v, self._neighbours[v].masking_key, self._session)
            add_mask(residues, key, subtract=v < self._me)
        self._sharers = delivery.sharers
        self._key_shares = {v: key_share for v, (key_share, _) in opened.items()}
        self._seed_shares |= {v: seed_share for v, (_, seed_share) in opened.items()}
        del self._seed, self._masking, self._sealing, self._secrets
        self.step = Step.AGREE
        message = MaskedInput(context=self._session, sender=self._me, residues=residues.tobytes())
        return message.signed(self._identity)

    def agree(self, survivors: Survivors) -> SurvivorAgreement:
        """Step 3: sign, once and for all, who shared keys and who survived."""
        self._expect(Step.AGREE)
        self._same_session(survivors)
        strangers = set(survivors.clients) - set(self._sharers)
        if strangers:
            raise UnknownClient(min(strangers))
        if self._me not in survivors.clients:
            raise SurvivorsDisagree(f"client {self._me} is said to have dropped out, but has sent its input")
        self._enough("survivors", len(survivors.clients), self._terms.plan.quorum)
        self._survivors = frozenset(survivors.clients)
        self._digest = survivors_digest(self._session, self._sharers, self._survivors)
        self.step = Step.UNMASK
        return SurvivorAgreement(context=self._session, sender=self._me, digest=self._digest).signed(self._identity)

    def unmask(self, agreements: SurvivorAgreements) -> Unmasking:
        """Step 4: once a quorum has signed the same, give of each neighbour one kind of share.

        The masking key of those that dropped out, the seed of those that survived: never both of one client, or its
        input would lie open.
        """
        self._expect(Step.UNMASK)
        self._same_session(agreements)
        quorum = self._terms.plan.quorum
        for one in agreements.agreements:
            if one.sender not in self._survivors:
                raise UnknownClient(one.sender)
            self._same_session(one, one.sender)
            if one.digest != self._digest:
                raise SurvivorsDisagree(f"client {one.sender} got another list of survivors than client {self._me}")
        for one in agreements.agreements[:quorum]:
            one.check(self._terms.roster[one.sender])
        self._enough("agreements", len(agreements.agreements), quorum)
        self.step = Step.DONE
        message = Unmasking(
            context=self._session,
            sender=self._me,
            key_shares=tuple((v, s) for v, s in sorted(self._key_shares.items()) if v not in self._survivors),
            seed_shares=tuple((v, s) for v, s in sorted(self._seed_shares.items()) if v in self._survivors),
        )
        del self._key_shares, self._seed_shares
        return message.signed(self._identity)

    def _check_advertised(self, advertised: Advertised) -> None:
        """Whether the list can be the one that everybody has: of this round, of invited clients, mine among it."""
        listed = advertised.advertisements
        if advertised.context != self._terms.digest:
            raise Replay
        for one in listed:
            if one.context != self._terms.digest:
                raise Replay(one.sender)
            if one.sender not in self._terms.roster:
                raise UnknownClient(one.sender)
        if self._advertisement not in listed:
            raise MalformedMessage(f"the advertised keys lack those of client {self._me}, or have changed them")
        if len({key for one in listed for key in (one.sealing_key, one.masking_key)}) != 2 * len(listed):
            raise Duplicate("one public key is advertised twice")
        self._enough("advertised keys", len(listed), self._terms.plan.quorum)

    def _check_delivery(self, delivery: Delivery) -> dict[int, bytes]:
        """The sealed shares by sender, if they are just those of the neighbours among the clients that shared keys."""
        self._same_session(delivery)
        if delivery.receiver != self._me:
            raise MalformedMessage(f"a delivery for client {delivery.receiver} has come to client {self._me}")
        for client in delivery.sharers:
            if client not in self._terms.roster:
                raise UnknownClient(client)
        self._enough("clients that shared keys", len(delivery.sharers), self._terms.plan.quorum)
        sealed = dict(delivery.sealed)
        if self._me not in delivery.sharers or sealed.keys() != self._neighbours.keys() & set(delivery.sharers):
            raise SurvivorsDisagree(f"the shares delivered to client {self._me} are not those of its neighbours")
        return sealed

    def _opened(self, delivery: Delivery) -> dict[int, tuple[bytes, bytes]]:
        sealed = self._check_delivery(delivery)
        self._enough("neighbours that shared keys", len(sealed) + 1, self._terms.plan.threshold)
        return {v: self._open(v, data) for v, data in sealed.items()}

    def _open(self, sender: int, sealed: bytes) -> tuple[bytes, bytes]:
        plain = keys.unseal(self._secrets[sender], self._session, sender, self._me, sealed)
        if len(plain) != 2 * SHARE_BYTES:
            raise MalformedShare(f"the share of client {sender} for client {self._me} has the wrong length")
        both = plain[:SHARE_BYTES], plain[SHARE_BYTES:]
        for share in both:
            share_from_bytes(share)
        return both

    def _expect(self, step: Step) -> None:
        if self.step != step:
            raise OutOfTurn(f"client {self._me} is at step {self.step.name}, not {step.name}")

    def _same_session(self, message: SumMessage, sender: int | None = None) -> None:
        if message.context != self._session:
            raise Replay(sender)

    @staticmethod
    def _enough(what: str, there: int, needed: int) -> None:
        if there < needed:
            raise TooFewClients(what, there, needed)


def _pack(key_share: int, seed_share: int) -> bytes:
    return share_to_bytes(key_share) + share_to_bytes(seed_share)
