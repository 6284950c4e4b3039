"""What a reader may choose: a smaller ε than the publisher's, and categories that are no secret.

**Categories that are no secret** (PrivateRec, section 3.1). Clicks on articles of an `open` category are counted
exactly, and the counts are sent in clear: nothing bounds what the server learns of them (ε = ∞). The budget is spent
on the other clicks alone, which are called sensitive.

What is protected is this: two histories are neighbours if one *sensitive* click of the one is replaced by another
*sensitive* click in the other. What is not: whether a click was sensitive at all (replacing a sensitive click by an
open one changes the open counts, and the number of sensitive clicks), everything about open clicks, and which
categories were declared open, which the counts show. Where the number of clicks is hidden, the neighbours have one
sensitive click more or less; the number of open clicks is sent in any case. A click is open or sensitive by the
setting at the time it was made: a later change applies to later clicks only. So what was sensitive is never sent
in clear afterwards.

What a category is, the device fixes when the reader opens it: the articles that are in it then, as they are then.
Articles that come later, or change, are sensitive until the reader opens the category again. So a server cannot put an
article into an open category to learn who reads it.

**A smaller ε.** The server takes releases only with exactly the ε of its terms, so a reader's ε is a limit on which of
them are made: sketch and label if it covers both, the sketch alone if it covers that, else nothing, and then the
device ranks by itself and asks the server for nothing but the catalogue. The choice applies to later releases; what
was released stays released, but with an ε below the sketch's it is not sent again. The ledger holds the limit too: no
click pays more, whatever terms came one after the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from discreet.edge.reader.publisher_terms import PublisherTerms
from discreet.errors import DiscreetError


@dataclass(frozen=True)
class ReaderSettings:
    """A reader's choices.

    Attributes:
        epsilon: The most that a click may cost, if that is to be less than the publisher's lifetime ε; None for that.
        open_categories: Categories whose clicks are sent without noise.
    """

    epsilon: float | None = None
    open_categories: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.epsilon is not None and not (math.isfinite(self.epsilon) and self.epsilon >= 0):
            raise DiscreetError(f"your ε must be a number of at least 0, not {self.epsilon}")

    def require_within(self, terms: PublisherTerms) -> None:
        """Refuse an ε above the publisher's."""
        if self.epsilon is not None and self.epsilon > terms.lifetime:
            raise DiscreetError(
                f"your ε ({self.epsilon:g}) may be smaller than the publisher's {terms.lifetime:g}, not larger"
            )

    def makes_sketches(self, terms: PublisherTerms) -> bool:
        """Whether sketches are made and sent."""
        return terms.epsilon_sketch > 0 and (self.epsilon is None or self.epsilon >= terms.epsilon_sketch)

    def makes_labels(self, terms: PublisherTerms) -> bool:
        """Whether labels are made.

        Never where the number of clicks is hidden, because a label shows that there was a click.
        """
        wanted = terms.reports and terms.epsilon_label > 0 and not terms.hide_length
        return wanted and (self.epsilon is None or self.epsilon >= terms.epsilon_sketch + terms.epsilon_label)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"epsilon": self.epsilon, "open_categories": sorted(self.open_categories)}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> ReaderSettings:
        """The inverse of `to_json`."""
        return cls(fields["epsilon"], frozenset(fields["open_categories"]))
