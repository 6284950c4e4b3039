"""Databases: a SQLite file or a PostgreSQL URL, the same to whoever writes to them."""

from discreet.database.engine import open_engine, problem_of, shown_database

__all__ = ["open_engine", "problem_of", "shown_database"]
