"""The films of the generated ratings: invented titles whose words carry the genre, genres, years."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Items

_NOUNS = {
    "Action": "Strike Bullet Pursuit Fist Showdown Avalanche",
    "Adventure": "Voyage Island Treasure Summit Compass Jungle",
    "Animation": "Acorn Kite Lantern Teapot Balloon Snowflake",
    "Children's": "Puppy Playground Marble Pony Treehouse Mitten",
    "Comedy": "Wedding Roommate Holiday Mix-Up Landlord Picnic",
    "Crime": "Heist Alibi Safecracker Witness Getaway Racket",
    "Documentary": "Harvest Archive Orchestra River Election Workshop",
    "Drama": "Letter Orchard Daughter Promise Winter Silence",
    "Fantasy": "Dragon Wizard Crown Enchantment Unicorn Spell",
    "Film-Noir": "Shadow Alley Cigarette Stranger Midnight Blonde",
    "Horror": "Cellar Scream Coffin Werewolf Séance Graveyard",
    "Musical": "Chorus Tango Melody Curtain Serenade Matinee",
    "Mystery": "Clue Locket Disappearance Cipher Footprint Guest",
    "Romance": "Kiss Bouquet Summer Valentine Sweetheart Waltz",
    "Sci-Fi": "Android Nebula Orbit Colony Signal Time-Loop",
    "Thriller": "Hostage Deadline Conspiracy Decoy Wiretap Trap",
    "War": "Trench Regiment Convoy Armistice Sniper Homefront",
    "Western": "Sheriff Stagecoach Saloon Outlaw Prairie Canyon",
}
GENRES = tuple(_NOUNS)
_MOODS = (
    "Last Crimson Quiet Golden Broken Hidden Endless Lost Northern Secret Second Burning Velvet Distant Paper Electric "
    "Forgotten Little Midsummer Blue Crooked Savage Gentle Hollow Lucky Marble Restless Silver Stolen Wandering"
)
_PATTERNS = (
    "The {mood} {noun}",
    "{mood} {noun}",
    "{noun} of the {other}",
    "A {noun} and a {other}",
    "{mood} {noun} II",
)
_GENRE_SHARES = np.array([8, 6, 3, 4, 19, 5, 3, 25, 3, 1, 6, 2, 3, 8, 5, 9, 3, 2]) / 115.0
FIRST_YEAR, LAST_YEAR = 1930, 2000


def draw_films(rng: np.random.Generator, count: int) -> tuple[Items, NDArray[np.bool_]]:
    """Draw `count` films of one to three genres; also their genres as a table of flags.

    Ids are in no order, so that they tell nothing of how popular a film is.
    """
    genres = rng.choice(len(GENRES), size=(count, 3), p=_GENRE_SHARES)
    genres[:, 1:] = np.where(np.arange(1, 3) < rng.integers(1, 4, size=count)[:, None], genres[:, 1:], genres[:, :1])
    flags = np.zeros((count, len(GENRES)), dtype=np.bool_)
    flags[np.arange(count)[:, None], genres] = True
    years = LAST_YEAR - np.minimum(rng.exponential(14.0, size=count), LAST_YEAR - FIRST_YEAR).astype(np.int32)
    draws = rng.integers(1 << 20, size=(count, 4)).tolist()
    columns = zip(genres[:, 0].tolist(), genres[:, 1].tolist(), years.tolist(), draws, strict=True)
    items = Items(
        ids=[str(number) for number in (1 + rng.permutation(count)).tolist()],
        titles=[_title(first, second, year, draw) for first, second, year, draw in columns],
        genres=[tuple(GENRES[genre] for genre in np.flatnonzero(row)) for row in flags],
        years=years.astype(np.int32),
    )
    return items, flags


def _title(first: int, second: int, year: int, draws: list[int]) -> str:
    nouns, others = _NOUNS[GENRES[first]].split(), _NOUNS[GENRES[second]].split()
    noun = draws[0] % len(nouns)
    other = others[(noun + 1 + draws[1] % (len(others) - 1)) % len(others)]
    pattern = _PATTERNS[draws[2] % len(_PATTERNS)]
    moods = _MOODS.split()
    name = pattern.format(mood=moods[draws[3] % len(moods)], noun=nouns[noun], other=other)
    return f"{name.replace('A A', 'An A').replace('a A', 'an A')} ({year})"
