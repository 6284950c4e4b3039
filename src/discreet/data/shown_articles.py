"""The public side of a news data set: its articles, and how often each was shown. No reader and no click is in it.

A command makes it of a `NewsData` and hands it to the server, which takes nothing else of a data set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.data.news import Articles, NewsData


@dataclass(frozen=True, eq=False)
class ShownArticles:
    """Articles with their exposure.

    Attributes:
        articles: What is public of each article.
        first_shown: When each was first shown, in seconds since 1970; where it never was, when it was published, or
            the end of the data set.
        times_shown: How often each was shown.
        latest: When the last impression of the data set was.
    """

    articles: Articles
    first_shown: NDArray[np.int64]
    times_shown: NDArray[np.int64]
    latest: int

    @classmethod
    def of(cls, data: NewsData) -> ShownArticles:
        """What is public of a data set. Of its impressions only times and slates are looked at."""
        count = len(data.articles)
        first, times = np.full(count, np.iinfo(np.int64).max), np.zeros(count, np.int64)
        latest = 0
        for part in data.splits.values():
            np.minimum.at(first, part.public_shown, part.time[part.impression_of_shown[part.is_public]])
            times += np.bincount(part.public_shown, minlength=count)
            latest = max(latest, int(part.time.max(initial=0)))
        published = data.articles.published
        never = np.where(published >= 0, published, latest)
        return cls(data.articles, np.where(times > 0, first, never), times, latest)
