"""Experiments on news and on ratings: measure, compare, report, reproduce."""

REPORT_FILES = (
    "report.html",
    "comparison.json",
    "comparison.md",
    *(f"{name}.svg" for name in ("auc", "epsilon", "rmse", "ndcg", "gap", "tail", "gains")),
)
"""The files of a report's folder."""
