"""One thread for BLAS, where it is asked for small matrices only.

Its other threads spin while they wait for the next product. On a busy machine that costs many times the work itself.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

import numpy as np  # noqa: F401  (its BLAS must be loaded before it is looked for)
from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[Any]:
    """A block in which numpy's products take one thread."""
    return _found().limit(limits=1, user_api="blas")  # type: ignore[no-any-return]


@lru_cache(maxsize=1)
def _found() -> ThreadpoolController:
    """The libraries of this process; looking for them takes a millisecond or more."""
    return ThreadpoolController()
