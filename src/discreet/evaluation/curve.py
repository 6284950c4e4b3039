"""How a training went: each round's loss, and the AUC where it was measured, as a table and as a picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.extras import has_extra


def write_curve(folder: Path, losses: NDArray[np.floating], watched: NDArray[np.floating]) -> None:
    """Write `rounds.csv`, and `curve.svg` where the extra `plots` is installed; `watched` has rows of (round, AUC)."""
    auc = {int(number): value for number, value in watched}
    lines = [f"{number},{loss:.6f},{auc.get(number, '')}" for number, loss in enumerate(losses.tolist(), start=1)]
    (folder / "rounds.csv").write_text("\n".join(["round,loss,auc", *lines]) + "\n", encoding="utf-8")
    if has_extra("plots"):
        _draw(folder / "curve.svg", losses, watched)


def _draw(path: Path, losses: NDArray[np.floating], watched: NDArray[np.floating]) -> None:
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "discreet", "svg.fonttype": "none"}):
        figure = Figure(figsize=(6.4, 3.2), layout="constrained")
        loss_axes = figure.add_subplot()
        rounds = np.arange(1, len(losses) + 1)
        loss_axes.plot(rounds, losses, color="#9db4c0", linewidth=0.8)
        window = max(1, len(losses) // 20)
        smooth = np.convolve(losses, np.ones(window) / window, mode="valid")
        loss_axes.plot(rounds[window - 1 :], smooth, color="#253237", linewidth=1.6, label="loss (mean of a sample)")
        loss_axes.set(xlabel="round", ylabel="loss")
        if len(watched):
            auc_axes = loss_axes.twinx()
            auc_axes.plot(
                watched[:, 0], watched[:, 1], "o-", color="#c8553d", markersize=4, label="AUC (a few impressions)"
            )
            auc_axes.set_ylabel("AUC", color="#c8553d")
        loss_axes.spines[["top"]].set_visible(False)
        figure.savefig(path, format="svg", metadata={"Date": None})
