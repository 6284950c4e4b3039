"""PrivateRec's Tables 1 and 2 and Figures 4 to 7."""

from __future__ import annotations

import itertools
import math

from discreet.experiments.papers.cells import Panel, PaperCell, PaperStatement, Plan
from discreet.experiments.papers.printed import PRIVATEREC_TABLE_1, PRIVATEREC_TABLE_2, printed
from discreet.experiments.papers.scale import Scale
from discreet.methods.method import Method
from discreet.methods.method_registry import make_method
from discreet.methods.published.serving import attention_noise_scale
from discreet.privacy.mechanisms.mechanism import Calibration

_MODELS = {"NAML": "naml", "NRMS": "nrms", "PLM-NR": "plm_nr"}
_TRAINING, _SERVING = (1.0, 5.0, 10.0, 20.0, math.inf), (0.001, 0.01, 0.1, 1.0, 10.0, math.inf)
_PADDINGS, _BASES = (0.0, 0.2, 0.5, 0.8), (2, 3, 5, 10)
_NOT_PRINTED = "The paper's text has no numbers for this figure."
_CLAIMED = (
    "ε is the paper's claim for one round or one release. The last column has the true ε for life; none is finite for"
    " PrivateRec's gradients."
)
_BASELINES = "`content` and `combined` are not in the paper: they need no model."


def table_1(scale: Scale) -> Plan:
    """Training with and without noise; the device ranks with its exact history."""
    cells = []
    for label, model in _MODELS.items():
        lines = {
            f"{label}, centralized": scale.method("centralized", model),
            f"{label}, DP-FedRec, ε_t = ∞": scale.method("fedrec", model),
            f"{label}, DP-FedRec, ε_t = 10": scale.method("dp_fedrec", model, epsilon=10.0),
            f"{label}, PrivateRec, ε_t = 10": scale.method("privaterec", model, epsilon=10.0),
        }
        cells += [PaperCell(line, method, printed=printed(PRIVATEREC_TABLE_1, line)) for line, method in lines.items()]
    statements = []
    for label in _MODELS:
        order = ("centralized", "DP-FedRec, ε_t = ∞", "PrivateRec, ε_t = 10", "DP-FedRec, ε_t = 10")
        statements += [
            PaperStatement(f"{label}: {above} is above {below}", (f"{label}, {above}", 0.0), (f"{label}, {below}", 0.0))
            for above, below in itertools.pairwise(order)
        ]
    return Plan(cells + _untrained(), statements, remarks=(_BASELINES, _CLAIMED))


def table_2(scale: Scale) -> Plan:
    """What is sent at serving time is noised too, with a claimed ε_s = 10."""
    cells = []
    for label, model in _MODELS.items():
        lines = {
            f"{label}, DP-FedRec, ε_t = ∞": scale.method("fedrec", model, epsilon_serving=10.0),
            f"{label}, DP-FedRec, ε_t = 10": scale.method("dp_fedrec", model, epsilon=10.0, epsilon_serving=10.0),
            f"{label}, PrivateRec, ε_t = 10": scale.method("privaterec", model, epsilon=10.0, epsilon_serving=10.0),
        }
        cells += [PaperCell(line, method, printed=printed(PRIVATEREC_TABLE_2, line)) for line, method in lines.items()]
        cells.append(PaperCell(f"{label}, FedRec on the device, ε_s = 0", scale.method("fedrec", model)))
    statements = [
        PaperStatement(
            f"{label}: PrivateRec is above DP-FedRec with {other}", (ours, 0.0), (f"{label}, DP-FedRec, {other}", 0.0)
        )
        for label in _MODELS
        for ours in (f"{label}, PrivateRec, ε_t = 10",)
        for other in ("ε_t = ∞", "ε_t = 10")
    ]
    remarks = ("`FedRec on the device` is not in the paper: the device ranks by itself and sends nothing.", _CLAIMED)
    return Plan(cells, statements, remarks=remarks)


def figure_4(scale: Scale) -> Plan:
    """AUC by the claimed budget of serving, B = 5."""
    lines: dict[str, tuple[str, dict[str, float]]] = {"DP-FedRec, ε_t = ∞": ("fedrec", {})}
    for epsilon in (1.0, 10.0, 20.0, math.inf):
        shown = "∞" if math.isinf(epsilon) else f"{epsilon:g}"
        lines[f"PrivateRec, ε_t = {shown}"] = ("privaterec", {"epsilon": epsilon, "basis": 5, "padding": 0.5})
    cells = [
        PaperCell(line, _served(scale, method, epsilon, settings), x=epsilon)
        for line, (method, settings) in lines.items()
        for epsilon in _SERVING
    ]
    statements = [
        PaperStatement(
            f"PrivateRec (ε_t = 10) is above DP-FedRec at ε_s = {epsilon:g}",
            ("PrivateRec, ε_t = 10", epsilon),
            ("DP-FedRec, ε_t = ∞", epsilon),
        )
        for epsilon in _SERVING
        if not math.isinf(epsilon)
    ]
    statements.append(
        PaperStatement(
            "Noise in training helps serving: PrivateRec with ε_t = 10 is above ε_t = ∞ at ε_s = 1",
            ("PrivateRec, ε_t = 10", 1.0),
            ("PrivateRec, ε_t = ∞", 1.0),
        )
    )
    statements.append(
        PaperStatement(
            "Without noise in serving FedRec is above PrivateRec (ε_t = 10)",
            ("DP-FedRec, ε_t = ∞", math.inf),
            ("PrivateRec, ε_t = 10", math.inf),
        )
    )
    return Plan(cells, statements, "claimed ε_s", True, remarks=(_NOT_PRINTED, _CLAIMED))


def figure_5(scale: Scale) -> Plan:
    """How much noise padding saves, and what it costs, for B = 3 and 5 at ε_s = 1."""
    cells = [
        PaperCell(
            f"B = {basis}", _served(scale, "privaterec", 1.0, {"epsilon": 10.0, "basis": basis, "padding": p}), x=p
        )
        for basis in (3, 5)
        for p in _PADDINGS
    ]
    statements = [
        PaperStatement("B = 5: p = 0.5 is better than none", ("B = 5", 0.5), ("B = 5", 0.0)),
        PaperStatement("B = 5: p = 0.5 is better than 0.8", ("B = 5", 0.5), ("B = 5", 0.8)),
        PaperStatement("B = 3: p = 0.2 is better than none", ("B = 3", 0.2), ("B = 3", 0.0)),
        PaperStatement("B = 3: p = 0.2 is better than 0.8", ("B = 3", 0.2), ("B = 3", 0.8)),
    ]
    noise = [
        (
            f"ε_s = {epsilon:g}",
            _PADDINGS,
            [attention_noise_scale(epsilon, 3, 1.0, p, Calibration.PAPER) * epsilon for p in _PADDINGS],
        )
        for epsilon in (0.1, 1.0, 10.0)
    ]
    panel = Panel("noise", "padding p", "Laplace scale × ε_s, as published", noise)
    return Plan(cells, statements, "padding p", panels=[panel], remarks=(_NOT_PRINTED, _CLAIMED))


def figure_6(scale: Scale) -> Plan:
    """AUC by the claimed budget of training."""
    cells = []
    for epsilon in _TRAINING:
        noised = scale.method("dp_fedrec", "nrms", epsilon=epsilon) if epsilon < math.inf else None
        cells += [
            PaperCell("DP-FedRec", noised or scale.method("fedrec", "nrms"), x=epsilon),
            PaperCell("PrivateRec", scale.method("privaterec", "nrms", epsilon=epsilon), x=epsilon),
        ]
    statements = [
        PaperStatement(
            f"PrivateRec is above DP-FedRec at ε_t = {epsilon:g}", ("PrivateRec", epsilon), ("DP-FedRec", epsilon)
        )
        for epsilon in _TRAINING
        if not math.isinf(epsilon)
    ]
    statements.append(
        PaperStatement(
            "Without noise the decomposition costs nothing",
            ("PrivateRec", math.inf),
            ("DP-FedRec", math.inf),
            alike=True,
        )
    )
    return Plan(cells, statements, "claimed ε_t", True, remarks=(_NOT_PRINTED, _CLAIMED))


def figure_7(scale: Scale) -> Plan:
    """AUC by the number of basis vectors, ε_t = 10, no noise in serving."""
    cells = [
        PaperCell("PrivateRec", scale.method("privaterec", "nrms", epsilon=10.0, basis=basis), x=basis)
        for basis in _BASES
    ]
    statements = [
        PaperStatement(f"B = 3 is better than B = {basis}", ("PrivateRec", 3), ("PrivateRec", basis))
        for basis in _BASES
        if basis != 3
    ]
    return Plan(cells, statements, "basis vectors B", remarks=(_NOT_PRINTED, _CLAIMED))


def _served(scale: Scale, method: str, epsilon: float, settings: dict[str, float]) -> Method:
    """NRMS, served with a claimed ε_s; infinity ranks on the device."""
    serving = {} if math.isinf(epsilon) else {"epsilon_serving": epsilon}
    return scale.method(method, "nrms", **settings, **serving)


def _untrained() -> list[PaperCell]:
    return [PaperCell(name, make_method(name, {})) for name in ("content", "combined")]
