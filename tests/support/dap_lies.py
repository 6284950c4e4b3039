"""Reports with lies in them, and what aggregators have counted."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
from dap_site import START, WINDOW

from discreet.aggregation.dap import messages as m
from discreet.aggregation.dap.hpke import input_share_info, seal
from discreet.aggregation.dap.problems import ProblemType
from discreet.aggregation.prio3 import report_rows

R, P = m.ReportError, ProblemType


RNG = random.Random(5)


def after(window=0):
    return START + (window + 2) * WINDOW


def with_false_part(prio3, context, public_share, shares):
    """A report of the largest values with a proof of zeros, and another part of the helper in its public share."""
    field, size = prio3.circuit.field, prio3.circuit.field.encoded_size
    seed = np.frombuffer(shares[1][:32], np.uint8)[None]
    proofs = report_rows._helper_proofs(prio3, context, 1, seed)
    proofs = field.encode_rows(field.sub(field.zeros(*proofs.shape[:2]), proofs)).tobytes()
    start = prio3.circuit.meas_len * size
    leader = shares[0][:start] + proofs + shares[0][start + len(proofs) :]
    return public_share[:32] + bytes(32), [leader, shares[1]]


def request_of(
    site,
    window=0,
    *,
    values=None,
    tamper=lambda shares: shares,
    tamper_public=lambda share: share,
    tamper_both=lambda share, shares: (share, shares),
    **metadata,
):
    """An upload of one report that says bucket 1, or what is said, with lies in it."""
    public = site.agreement
    rand = RNG.randbytes(public.prio3.rand_size)
    about = m.ReportMetadata(RNG.randbytes(16), public.time_of(window), ())
    measurement = public.task.measurement(site.contribution(1).values if values is None else values)
    share, shares = public.prio3.shard(public.context, measurement, about.report_id, rand)
    about = replace(about, **metadata)
    share, shares = tamper_both(tamper_public(share), shares)
    aad = public.input_share_aad(about, share)
    sealed = [
        seal(site.keys[role.name.lower()].config, input_share_info(role), aad, m.PlaintextInputShare((), one).encode())
        for role, one in zip((m.Role.LEADER, m.Role.HELPER), tamper(shares), strict=True)
    ]
    return m.UploadRequest((m.Report(about, share, *sealed),))
