"""How well a ranking does, how sure that is, and how to show it."""

REPORT_FILES = ("report.html", "comparison.json", "comparison.md", "auc.svg", "epsilon.svg")
"""The files of a report's folder."""
