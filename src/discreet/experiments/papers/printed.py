"""What the papers print, in per cent: AUC, MRR, nDCG@5, nDCG@10.

FedNewsRec: Qi et al., Privacy-Preserving News Recommendation Model Learning, Table 2, the columns of MSN-News.
PrivateRec: Liu et al., Tables 1 and 2, the columns of MIND. Their figures have no numbers in the text.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.evaluation.metrics import METRICS

FEDNEWSREC_TABLE_2: Mapping[str, tuple[float, float, float, float]] = {
    "FM": (58.41, 27.19, 28.98, 34.57),
    "DFM": (61.25, 28.68, 30.62, 36.38),
    "EBNR": (63.64, 29.50, 31.57, 37.38),
    "DKN": (62.38, 29.40, 31.59, 37.27),
    "DAN": (62.54, 29.44, 31.67, 37.31),
    "NAML": (64.52, 30.93, 33.39, 39.07),
    "NPA": (64.29, 30.63, 33.11, 38.89),
    "NRMS": (65.72, 31.85, 34.59, 40.25),
    "FCF": (51.03, 22.24, 22.97, 28.44),
    "FedNewsRec": (64.65, 30.60, 33.03, 38.77),
    "CenNewsRec": (66.45, 31.91, 34.62, 40.33),
}

PRIVATEREC_TABLE_1: Mapping[str, tuple[float, float, float, float]] = {
    "NAML, centralized": (65.35, 31.36, 33.82, 39.55),
    "NAML, DP-FedRec, ε_t = ∞": (63.04, 29.93, 32.08, 37.75),
    "NAML, DP-FedRec, ε_t = 10": (55.31, 24.88, 25.91, 31.52),
    "NAML, PrivateRec, ε_t = 10": (57.51, 26.27, 27.76, 33.34),
    "NRMS, centralized": (65.82, 31.68, 34.29, 39.99),
    "NRMS, DP-FedRec, ε_t = ∞": (62.80, 29.59, 31.66, 37.32),
    "NRMS, DP-FedRec, ε_t = 10": (54.59, 24.75, 25.64, 31.28),
    "NRMS, PrivateRec, ε_t = 10": (58.32, 26.56, 27.93, 33.67),
    "PLM-NR, centralized": (67.08, 32.49, 35.21, 40.94),
    "PLM-NR, DP-FedRec, ε_t = ∞": (66.05, 31.72, 34.28, 40.05),
    "PLM-NR, DP-FedRec, ε_t = 10": (54.87, 24.45, 25.51, 31.18),
    "PLM-NR, PrivateRec, ε_t = 10": (58.75, 26.70, 28.22, 33.90),
}

PRIVATEREC_TABLE_2: Mapping[str, tuple[float, float, float, float]] = {
    "NAML, DP-FedRec, ε_t = ∞": (50.32, 22.75, 23.41, 28.94),
    "NAML, DP-FedRec, ε_t = 10": (50.11, 22.69, 23.31, 28.83),
    "NAML, PrivateRec, ε_t = 10": (57.52, 26.39, 27.88, 33.45),
    "NRMS, DP-FedRec, ε_t = ∞": (50.23, 22.79, 23.44, 28.98),
    "NRMS, DP-FedRec, ε_t = 10": (50.19, 22.71, 23.34, 28.87),
    "NRMS, PrivateRec, ε_t = 10": (57.00, 26.15, 27.49, 32.74),
    "PLM-NR, DP-FedRec, ε_t = ∞": (50.59, 22.61, 23.18, 28.78),
    "PLM-NR, DP-FedRec, ε_t = 10": (50.03, 22.17, 22.70, 28.26),
    "PLM-NR, PrivateRec, ε_t = 10": (58.69, 26.37, 27.75, 33.57),
}


def printed(table: Mapping[str, tuple[float, float, float, float]], line: str) -> dict[str, float]:
    """The values of a line, from 0 to 1, by the name of the metric."""
    return {metric: value / 100 for metric, value in zip(METRICS, table[line], strict=True)}
