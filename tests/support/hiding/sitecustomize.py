"""Python imports this at its start: libraries that $HIDDEN_LIBRARIES names are as if they were not installed."""

import os
import sys

HIDDEN = frozenset(os.environ["HIDDEN_LIBRARIES"].split())


class Without:
    """A finder that does not see them."""

    def __init__(self, finder):
        self._finder = finder

    def __getattr__(self, name):
        return getattr(self._finder, name)

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in HIDDEN else self._finder.find_spec(name, path, target)


sys.meta_path = [Without(finder) for finder in sys.meta_path]
