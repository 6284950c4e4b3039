"""What stands first, for every reader: not one section alone, and not without what is new.

However much the reader's clicks speak for a section, and for older articles, the first places keep to two limits. The
browser's device (`serving/web/device/first_page.js`) chooses the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import DiscreetError


@dataclass(frozen=True)
class FirstPage:
    """What holds of the first places of a list, as far as its articles allow it.

    Attributes:
        places: How many places it is about; 0 for no limit at all.
        max_of_section: The most of them that one section has. Articles without a section are of none.
        min_new: The fewest of them that are new.
        new_share: The part of the list, the latest published, that is new.
    """

    places: int = 12
    max_of_section: int = 4
    min_new: int = 4
    new_share: float = 0.1

    def __post_init__(self) -> None:
        if self.places < 0 or self.max_of_section < 1 or self.min_new < 0 or not 0 <= self.new_share <= 1:
            raise DiscreetError(f"{self} is no first page: counts from 0 (of a section from 1), and a share up to 1")

    def arranged(self, order: Sequence[int], sections: Sequence[str], published: Sequence[int | None]) -> list[int]:
        """The same articles, with those first that the limits allow, each part in the given order.

        An article is taken in its turn if the limits can still be kept with it. Where there are too few new articles
        below the limit of their sections, fewer are shown; where there are too few sections, the rest of the places
        goes to the articles that come next.

        Args:
            order: The articles' numbers, the best first.
            sections: The section of each number.
            published: When it was published; None if nobody knows.
        """
        places = min(self.places, len(order))
        new = self._new(order, published)
        sections = [section.replace("_", " ").lower() for section in sections]  # feeds write them differently
        unseen = Counter(sections[article] for article in new)
        free = {section: self.max_of_section if section else places for section in set(sections)}
        possible = sum(min(free[section], count) for section, count in unseen.items())
        missing = min(self.min_new, places, possible)
        spare = possible - missing
        chosen: set[int] = set()
        for article in order:
            section, left = sections[article], places - len(chosen)
            if not left:
                break
            if not free[section]:
                continue
            if article in new:
                unseen[section] -= 1
                missing = max(0, missing - 1)
            elif left <= missing:
                continue
            elif missing and free[section] <= unseen[section]:  # a new one of its section could stand there
                if not spare:
                    continue
                spare -= 1
            free[section] -= 1
            chosen.add(article)
        rest = [article for article in order if article not in chosen]
        chosen.update(rest[: places - len(chosen)])
        return [article for article in order if article in chosen] + [a for a in rest if a not in chosen]

    def _new(self, order: Sequence[int], published: Sequence[int | None]) -> set[int]:
        """The latest; of those that came at the same time, the better ones."""
        dated = [(time, article) for article in order if (time := published[article]) is not None]
        dated.sort(key=lambda one: -one[0])
        return {article for _, article in dated[: math.ceil(self.new_share * len(order) - 1e-9)]}


FIRST_PAGE = FirstPage()
"""As it is where nobody says otherwise."""
