"""Vendors that predict ratings better together, without showing each other a user."""

REPORT_FILES = ("report.html", "comparison.json", "comparison.md", "rmse.svg", "gap.svg", "tail.svg", "gains.svg")
"""The files of a report's folder."""
