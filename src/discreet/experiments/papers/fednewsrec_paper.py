"""FedNewsRec's Table 2 and Figures 4 to 7."""

from __future__ import annotations

import math
from typing import Any

from discreet.experiments.cache import MeasurementCache
from discreet.experiments.papers.cells import (
    NewsReproduction,
    Panel,
    PaperCell,
    PaperStatement,
    Plan,
    measure_plan,
    training_curve,
)
from discreet.experiments.papers.printed import FEDNEWSREC_TABLE_2, printed
from discreet.experiments.papers.scale import Scale
from discreet.methods.in_rounds import InRounds
from discreet.methods.method import Method, TrainingTask
from discreet.methods.method_registry import make_method

_CENTRALIZED = {
    "FM": "fm",
    "DFM": "dfm",
    "EBNR": "ebnr",
    "DKN": "dkn",
    "DAN": "dan",
    "NAML": "naml",
    "NPA": "npa",
    "NRMS": "nrms",
    "CenNewsRec": "fednewsrec",
}
_CLIPS, _NOISES = (0.001, 0.005, 0.01), (0.005, 0.015, 0.05)
_SHARES = (0.125, 0.25, 0.5, 1.0)
_NOT_PRINTED = "The paper's text has no numbers for this figure, and not which values stand on its axis."
_FEW = (
    "The noise of a round falls with the root of the clients in it: 1,000 in the paper, some dozens at small scale."
    " The line without noise shows the rest."
)
_FEDREC = "FedRec is not in the paper: no clip, all readers weigh the same, and the server takes steps of FedAdam."


def _trained(scale: Scale, **changes: Any) -> dict[str, Method]:
    """The paper's method with its noise and without, and FedRec, by the names of their lines."""
    return {
        "FedNewsRec": scale.method("fednewsrec", "fednewsrec", **changes),
        "FedNewsRec without noise": scale.method("fednewsrec", "fednewsrec", epsilon=math.inf, **changes),
        "FedRec": scale.method("fedrec", "fednewsrec", **changes),
    }


def table_2(scale: Scale) -> Plan:
    """Eleven methods, half of the readers train. Baselines that need no training stand below."""
    cells = [
        PaperCell(line, scale.method("centralized", model), readers=0.5, printed=printed(FEDNEWSREC_TABLE_2, line))
        for line, model in _CENTRALIZED.items()
    ]
    federated = {"FCF": scale.method("fcf"), **_trained(scale)}
    for line, method in federated.items():
        values = printed(FEDNEWSREC_TABLE_2, line) if line in FEDNEWSREC_TABLE_2 else {}
        cells.append(PaperCell(line, method, readers=0.5, printed=values))
    cells += [PaperCell(name, make_method(name, {}), readers=0.5) for name in ("content", "combined")]
    ours = ("FedNewsRec", 0.0)
    statements = [
        PaperStatement("CenNewsRec is above FedNewsRec", ("CenNewsRec", 0.0), ours),
        PaperStatement("FedNewsRec is above FCF", ours, ("FCF", 0.0)),
        *(
            PaperStatement(f"FedNewsRec is above {line}", ours, (line, 0.0))
            for line in ("FM", "DFM", "EBNR", "DKN", "DAN")
        ),
        PaperStatement("NRMS is above FedNewsRec", ("NRMS", 0.0), ours),
        PaperStatement("NRMS is above NAML", ("NRMS", 0.0), ("NAML", 0.0)),
    ]
    remarks = ("`content` and `combined` are not in the paper: they need no model.", _FEDREC, _FEW)
    return Plan(cells, statements, remarks=remarks)


def figure_4(scale: Scale) -> Plan:
    """AUC by the number of readers who train."""
    lines = _trained(scale)
    cells = [PaperCell(line, method, x=share, readers=share) for line, method in lines.items() for share in _SHARES]
    statements = [
        PaperStatement(f"More readers are better ({line})", (line, _SHARES[-1]), (line, _SHARES[0])) for line in lines
    ]
    return Plan(cells, statements, "share of the readers who train", remarks=(_NOT_PRINTED, _FEDREC, _FEW))


def figure_5(scale: Scale) -> Plan:
    """AUC by λ and δ, and the ε that the paper computes from them."""
    cells = [
        PaperCell(
            f"δ = {clip:g}", scale.method("fednewsrec", "fednewsrec", clip=clip, epsilon=_claimed(clip, noise)), x=noise
        )
        for clip in _CLIPS
        for noise in _NOISES
    ]
    statements = [
        PaperStatement(
            f"A larger λ is worse (δ = {clip:g})", (f"δ = {clip:g}", _NOISES[0]), (f"δ = {clip:g}", _NOISES[-1])
        )
        for clip in _CLIPS
    ]
    statements += [
        PaperStatement(
            f"A larger δ is better (λ = {noise:g})", (f"δ = {_CLIPS[-1]:g}", noise), (f"δ = {_CLIPS[0]:g}", noise)
        )
        for noise in _NOISES
    ]
    budgets = [(f"δ = {clip:g}", _NOISES, [_claimed(clip, noise) for noise in _NOISES]) for clip in _CLIPS]
    panel = Panel("budget", "λ", "claimed ε = 2δ/λ of a coordinate", budgets, log=True)
    return Plan(cells, statements, "λ", True, [panel], (_NOT_PRINTED, _FEW))


def _claimed(clip: float, noise: float) -> float:
    """2δ/λ, rounded as the method's own value is: the cell with the paper's δ and λ is that of Figure 4."""
    return 2 / (noise / clip)


def figure_6(name: str, task: TrainingTask, scale: Scale, seed: int, cache: MeasurementCache) -> NewsReproduction:
    """AUC while FedNewsRec trains without noise, for several shares r."""
    lines, judged = [], []
    remarks = (_NOT_PRINTED, "AUC on 200 impressions of dev: one standard error is about 0.02.")
    for fraction in scale.fractions:
        method = scale.method("fednewsrec", "fednewsrec", epsilon=math.inf, fraction=fraction)
        assert isinstance(method, InRounds)
        watched = training_curve(task, method, seed, cache)
        lines.append((f"r = {fraction:g}", watched[:, 0].tolist(), watched[:, 1].tolist()))
        half = watched[len(watched) // 2, 1]
        first, last = half - watched[0, 1], watched[-1, 1] - half
        outcome = "comes out" if last < first else "does not come out"
        judged.append(
            f"The training converges (r = {fraction:g}): {outcome}; AUC rises by {first:+.4f} in the first half of the"
            f" rounds and by {last:+.4f} in the second"
        )
    panel = Panel("convergence", "round", f"AUC on {task.data.name}", lines)
    return measure_plan(name, task, Plan([], [], panels=[panel], remarks=remarks, judged=judged), [seed], cache)


def figure_7(scale: Scale) -> Plan:
    """The reader's model without short-term or without long-term interest."""
    variants = {"both": {}, "without short-term": {"model__short_term": False}}
    variants["without long-term"] = {"model__long_term": False}
    trained = {variant: _trained(scale, **changes) for variant, changes in variants.items()}
    lines = list(trained["both"])
    cells = [PaperCell(f"{line}: {variant}", trained[variant][line]) for line in lines for variant in variants]
    statements = [
        PaperStatement(f"Both are better than {variant} ({line})", (f"{line}: both", 0.0), (f"{line}: {variant}", 0.0))
        for line in lines
        for variant in ("without short-term", "without long-term")
    ]
    return Plan(cells, statements, remarks=(_NOT_PRINTED, _FEDREC, _FEW))
