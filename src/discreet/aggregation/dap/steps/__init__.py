"""How the tables of an aggregator came to be: alembic's revisions, each as it was written, and never changed.

A new one is `rNNNN_what.py` with `revision`, `down_revision` and `upgrade()`. Tests compare what all of them make with
`tables`.
"""
