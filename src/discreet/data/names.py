"""Numbers for names: readers, users, items and articles count from 0 in the order in which they first appear."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray


class Names:
    """Grows with every block of a file; a name keeps the number it got first."""

    def __init__(self) -> None:
        self._known = pl.DataFrame(schema={"name": pl.String})

    def number(self, names: pl.Series) -> NDArray[np.int32]:
        """The number of each name; new names are added."""
        rows = pl.DataFrame({"name": names})
        new = rows.unique(maintain_order=True).join(self._known, on="name", how="anti", maintain_order="left")
        if len(new):
            self._known = pl.concat([self._known, new])
        return names.cast(pl.Enum(self._known["name"])).to_physical().to_numpy().astype(np.int32)

    def __len__(self) -> int:
        return len(self._known)

    def to_list(self) -> list[str]:
        """All names, by number."""
        return self._known["name"].to_list()
