"""Databases: a SQLite file or a PostgreSQL URL, with one interface.

- `engine`: how to open either kind
- `schema`: which tables a database has, and the steps (alembic's revisions) that lead there from earlier versions
- `copies`: copies of a SQLite file, marked so that nobody goes on with one by mistake
- `postgres`: connections that do not wait for ever
"""

from discreet.database.engine import problem_of, shown_database, using_database
from discreet.database.schema import Schema, Upgraded, check, open_engine, upgrade

__all__ = ["Schema", "Upgraded", "check", "open_engine", "problem_of", "shown_database", "upgrade", "using_database"]
