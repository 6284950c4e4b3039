"""What both devices must make alike: ids of tasks, Prio3's parameters, costs, drawn times, values, whole reports."""

from __future__ import annotations

import hmac
from pathlib import Path
from random import Random
from typing import Any

from aggregation_tasks import task
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from pyhpke import AEADId, CipherSuite, KDFId, KEMId, KEMKey
from pyhpke.kem_key import KEMKeyPair

from discreet.aggregation.contribution import Contribution
from discreet.aggregation.dap.agreement import PublicTask
from discreet.aggregation.dap.hpke import generate_key, input_share_info
from discreet.aggregation.dap.messages import (
    HpkeCiphertext,
    PlaintextInputShare,
    Report,
    ReportMetadata,
    Role,
    UploadRequest,
)
from discreet.aggregation.prio3.circuits import Count, Histogram, MultihotCountVec, Sum, SumVec
from discreet.aggregation.task import Kind, Task
from discreet.audits.hostile_server.lies import ODD
from discreet.edge.reader.history import Click, History
from discreet.edge.reader.sums.contributor import ContributorInMemory
from discreet.edge.reader.sums.floors import Floors
from discreet.edge.reader.sums.measures import MEASURES, Observed
from discreet.edge.reader.sums.sums_store import Known
from discreet.edge.reader.views import VIEW, OfferedExperiment, View
from discreet.errors import DiscreetError
from discreet.methods.front_page.day_price import DayPrice
from discreet.methods.front_page.learnt_weights import weights_task
from discreet.methods.front_page.windows import popularity_task
from discreet.privacy.filter import Spent
from discreet.protocol.check import check
from discreet.protocol.quality_cells import EVERYBODY, MEASURE, quality_cells
from discreet.protocol.weight_cells import FEATURES, UNITS, ToldWeights, weight_cells
from discreet.protocol.weight_cells import MEASURE as WEIGHTS
from discreet.serving.learning.quality_estimates import quality_task

KINDS = ("count", "sum", "sumvec", "signedvec", "histogram", "multihot")
LEADER, HELPER = "https://leader.example/dap", "https://helper.example/"


def some_task(rng: Random, number: int) -> Task:
    """Any task that both devices take."""
    kind = KINDS[number % len(KINDS)]
    length = 1 if kind in ("count", "sum") else rng.choice((1, 2, 7, 40, 300))
    largest = rng.choice((1, 2, 60, 1000)) if kind in ("sum", "sumvec", "signedvec") else 1
    total = rng.randint(1, length * largest) if kind in ("sumvec", "signedvec", "multihot") else None
    gaussian = rng.random() < 0.3
    per = "day" if kind != "histogram" and rng.random() < 0.5 else "window"
    return task(
        name=f'täsk \u2028 "{number}" \\ \n {rng.random()}',
        purpose="to see",
        kind=kind,
        length=length,
        max_value=largest,
        max_total=total,
        start=86_400 * rng.randint(0, 20_000),
        window_seconds=rng.choice((900, 3600, 86_400)),
        windows=rng.randint(1, 10**6),
        send_seconds=rng.randint(60, 900),
        per=per,
        epsilon=rng.choice((1, 0.05, 1e-5 if not gaussian else 0.01, 0.1 + 0.2, rng.random() + 0.001)),
        delta=rng.choice((1e-6, 1e-12, 1.5e-7, 0.0001)) if gaussian else 0.0,
        noise="discrete_gaussian" if gaussian else "discrete_laplace",
        min_batch=rng.randint(1, 1000),
        measure="clicks",
        leader=LEADER,
        helper=HELPER,
    )


def parameters(some: Task) -> dict[str, int]:
    """Prio3's, by the draft's names."""
    circuit = some.prio3().circuit
    names = {
        Count: (),
        Sum: ("max_measurement",),
        SumVec: ("length", "max_measurement", "chunk_length"),
        Histogram: ("length", "chunk_length"),
        MultihotCountVec: ("length", "max_weight", "chunk_length"),
    }[type(circuit)]
    return {name: int(getattr(circuit, name)) for name in names}


def report(some: Task, window: int, values: list[int], rng: Random) -> dict[str, Any]:
    """A whole upload request from fixed randomness, by the Python code."""
    public = PublicTask(some)
    contribution = Contribution.of(some, values)
    metadata = ReportMetadata(rng.randbytes(16), public.time_of(window), ())
    rand = rng.randbytes(public.prio3.rand_size)
    measurement = some.measurement(contribution.values)
    public_share, shares = public.prio3.shard(public.context, measurement, metadata.report_id, rand)
    aad = public.input_share_aad(metadata, public_share)
    suite = CipherSuite.new(KEMId.DHKEM_X25519_HKDF_SHA256, KDFId.HKDF_SHA256, AEADId.AES128_GCM)
    sealed, keys = [], []
    for place, (role, share) in enumerate(zip((Role.LEADER, Role.HELPER), shares, strict=True)):
        key, ephemeral = generate_key(7 + place), rng.randbytes(32)
        private = X25519PrivateKey.from_private_bytes(ephemeral)
        pair = KEMKeyPair(
            suite.kem.deserialize_private_key(ephemeral),
            suite.kem.deserialize_public_key(private.public_key().public_bytes_raw()),
        )
        receiver: KEMKey = suite.kem.deserialize_public_key(key.config.public_key)
        enc, context = suite.create_sender_context(receiver, input_share_info(role), eks=pair)
        plain = PlaintextInputShare((), share).encode()
        sealed.append(HpkeCiphertext(key.config.id, enc, context.seal(plain, aad)))
        keys.append({"id": key.config.id, "key": key.config.public_key.hex(), "ephemeral": ephemeral.hex(),
                     "ephemeral_public": private.public_key().public_bytes_raw().hex()})  # fmt: skip
    request = UploadRequest((Report(metadata, public_share, *sealed),)).encode()
    nonce = metadata.report_id.hex()
    return {"window": window, "nonce": nonce, "rand": rand.hex(), "keys": keys, "request": request.hex()}


def vectors(seed: int, count: int) -> dict[str, Any]:
    """Everything, as JSON."""
    rng = Random(seed)
    made = []
    for number in range(count):
        some = some_task(rng, number)
        window = rng.randrange(min(some.windows, 50_000))
        secret = rng.randbytes(32)
        drawn = hmac.digest(secret, some.id + window.to_bytes(8, "big"), "sha256")
        part = int.from_bytes(drawn[:4], "big") / 2**32
        clicked = [rng.randrange(-1, some.length + 2) for _ in range(rng.choice((0, 1, 3, 9)))]
        clicked, left = list(dict.fromkeys(clicked)), rng.randint(0, some.total)
        views = [some_view(rng) for _ in range(rng.choice((0, 1, 2, 5)))]
        cells = quality_cells(ARMS) if number % 3 else quality_cells(ARMS[1:])
        observed = Observed(clicked, views, {name: place for place, name in enumerate(cells)})
        measured = {name: MEASURES[name](some, observed, left).tolist() for name in MEASURES}
        values = some.nothing().tolist() if number % 2 else measured["clicks by cell"]
        if some.kind is Kind.SIGNEDVEC:
            values = [rng.choice((-1, 1)) * value for value in values]
        made.append(
            {
                "terms": some.to_json(),
                "id": some.id.hex(),
                "canonical": some.terms.decode(),
                "prio3": parameters(some),
                "nothing": some.nothing().tolist(),
                "period": some.period(window),
                "sent_until": some.sent_until(window),
                "secret": secret.hex(),
                "due": some.begins(window + 1) + 0.9 * part * (some.sent_until(window) - some.begins(window + 1)),
                "clicked": clicked,
                "views": [{"arm": view.arm, "clicked": list(view.clicked)} for view in views],
                "cells": cells,
                "left": left,
                "measured": measured,
                "values": values,
                "report": report(some, window, values, rng),
            }
        )
    costs = [[(rng.choice((0.01, 0.05, 1)), rng.choice((0, 0, 0, 1e-7)))] * rng.randint(1, 400) for _ in range(12)]
    spent = [{"costs": each, "delta": 1e-6, "epsilon": _plain(Spent.of(each).at(1e-6))} for each in costs]
    quality, kept = [some_quality(rng) for _ in range(60)], [some_kept(rng) for _ in range(60)]
    weights = [some_weights(rng) for _ in range(60)]
    return {"tasks": made, "spent": spent, "quality": quality, "kept": kept, "weights": weights, "arms": arms(rng)}


ARMS = [EVERYBODY, "0123456789abcdef/one"]


def some_view(rng: Random) -> View:
    """A view of any length in which any articles were clicked."""
    often = rng.choice((0.0, 0.1, 0.5, 1.0))
    return View(rng.choice(ARMS), tuple(rng.random() < often for _ in range(rng.randrange(VIEW + 1))))


def some_quality(rng: Random) -> dict[str, Any]:
    """What a device measures of views, from when they were shown and what was clicked when."""
    some = quality_task(ARMS, 0.1, start=0, windows=5)
    names = [f"N{number}" for number in range(30)]
    history = History(":memory:")
    shown, clicks = [], []
    for time in sorted(rng.sample(range(2 * 86_400), rng.randrange(6))):
        shown.append({"time": time, "arm": rng.choice(ARMS), "articles": rng.sample(names, rng.randrange(1, VIEW + 1))})
        history.add_view(**shown[-1])
    for time in sorted(rng.sample(range(2 * 86_400), rng.randrange(20))):
        clicks.append({"time": time, "article": rng.choice(names)})
        history.add_click(Click(time, 0, clicks[-1]["article"], "", 0, None, "", 0, b""))
    cells = quality_cells(ARMS)
    observed = Observed((), history.views(0, 86_400), {name: place for place, name in enumerate(cells)})
    values = MEASURES[MEASURE](some, observed, some.total).tolist()
    return {"terms": some.to_json(), "views": shown, "clicks": clicks, "cells": cells, "values": values}


def some_weights(rng: Random) -> dict[str, Any]:
    """What a device's views of a day pull, at any weights, and with features that a liar has made."""
    directions = rng.choice((0, 0, 3, 48))
    some, views, size = weights_task(0.1, directions=directions), [], rng.choice((0.3, 3.0, 1e6))
    width, told = len(FEATURES) + directions, len(FEATURES) + rng.choice((directions, directions, 0, 2))
    for _ in range(rng.randrange(5)):
        view = some_view(rng)
        rows = tuple(tuple(rng.uniform(-size, size) for _ in range(width)) for _ in view.clicked)
        views.append(View(view.arm, view.clicked, rows if rng.random() < 0.9 else ()))
    candidate = tuple(rng.choice((0.0, 1e-7, rng.uniform(-3, 3), 123456.75)) for _ in range(told))
    reference = candidate if rng.random() < 0.2 else tuple(rng.uniform(-1, 1) for _ in candidate)
    units = (*UNITS, *(rng.choice((0.01, 1.0, rng.uniform(0.1, 50), 1e-30)) for _ in candidate[len(UNITS) :]))
    cells = weight_cells(ToldWeights(candidate, reference, units))
    if rng.random() < 0.3:
        lies = ("mean 0.3", "mean nan 1", "mean 1e9999 0", "gain", "x 1 1", "head0 1 1", "head0 1 1 0", "head1 1 1 -2")
        cells[rng.randrange(len(cells))] = rng.choice(lies)
        cells = list(dict.fromkeys(cells))
    left = rng.choice((some.total, some.total, some.total - 1))
    observed = Observed((), views, {name: place for place, name in enumerate(cells)})
    values = MEASURES[WEIGHTS](some, observed, left).tolist()
    shown = [{"arm": view.arm, "clicked": list(view.clicked), "features": view.features} for view in views]
    return {"terms": some.to_json(), "views": shown, "cells": cells, "left": left, "values": values}


def some_kept(rng: Random) -> dict[str, Any]:
    """What a device gives of a day's clicks to a window with some cells."""
    some = popularity_task(3600, DayPrice(1.0), rng.randint(1, 4), length=8, windows=48, leader=LEADER, helper=HELPER)
    names = [f"N{number}" for number in range(10)]
    times = sorted(rng.sample(range(2 * 86_400), rng.randrange(12)))
    clicks = [{"time": time, "article": rng.choice(names)} for time in times]
    window, since = rng.randrange(48), rng.choice((0, 7200, 90_000))
    counted = set(rng.sample(names, rng.randint(0, some.total)))
    cells, left = rng.sample(names, rng.randint(0, some.length)), some.total - len(counted)

    def clicked(begin: int, end: int) -> list[str]:
        return list(dict.fromkeys(one["article"] for one in clicks if begin <= one["time"] < end))

    device = ContributorInMemory(Path(), clicked, None, Floors())  # type: ignore[arg-type]
    known = Known(some, since, (), window - 1, some.period(window), some.total - left, frozenset(counted))
    values = device._measured(known, window, cells, left, known.counted).tolist()
    return {
        "terms": some.to_json(),
        "clicks": clicks,
        "window": window,
        "since": since,
        "cells": cells,
        "left": left,
        "counted": sorted(counted),
        "values": values,
    }


def arms(rng: Random) -> list[dict[str, Any]]:
    """Which arm a device with a secret is in."""
    made = []
    for number in range(40):
        several = [{"name": f"arm{i}", "popularity": 1.0, "content": 0.5} for i in range(2 + number % 5)]
        fields = {"id": rng.randbytes(8).hex(), "name": "which", "arms": several}
        secret = rng.randbytes(32)
        drawn = OfferedExperiment.from_json(fields).drawn(secret).name
        made.append({"secret": list(secret), "experiment": fields, "drawn": drawn})
    return made


def verdicts(seed: int, count: int) -> list[dict[str, Any]]:
    """Terms, most of them changed in one or two fields, and whether a device takes them."""
    rng, made = Random(seed), []
    odd = [*ODD[:12], *(value for value in ODD if isinstance(value, str) and "\ud800" not in value), 0.5, 60, 300, 3600]
    floors = Floors(helpers=frozenset({HELPER}))
    for number in range(count):
        terms = task(**GOOD, name=f"task {number}", kind=KINDS[number % 6] if number % 6 > 1 else "multihot").to_json()
        for _ in range(rng.choice((0, 1, 1, 2))):
            field = rng.choice(list(terms))
            values = [some_task(rng, rng.randrange(6)).to_json()[field], terms[field], rng.choice(odd)]
            terms[field] = rng.choice([*values, "https://news.example:8443/x", "http://localhost:1/"])
        try:
            (checked,) = check("tasks", {"tasks": [terms]})["tasks"]
            taken = floors.refusal(Task.from_json(checked)) is None
        except DiscreetError:
            taken = False
        made.append({"terms": terms, "taken": taken})
    return made


GOOD: dict[str, Any] = {
    "length": 3, "max_total": 1, "start": 86_400, "per": "window", "epsilon": 0.5, "send_seconds": 600,
    "measure": "clicks by cell", "cells": "ab" * 32, "leader": LEADER, "helper": HELPER,
}  # fmt: skip


def _plain(value: float) -> float | None:
    return None if value == float("inf") else value
