"""Looking tokens up by hash gives what a dictionary gives."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.lookup import Lookup

words = st.text(alphabet="abN019- ", max_size=20)


@given(known=st.lists(words, min_size=1, max_size=300, unique=True), tokens=st.lists(words, max_size=50))
def test_like_a_dictionary(known, tokens):
    number = {text: i for i, text in enumerate(known)}
    asked = tokens + known[::2]
    found = Lookup(pl.Series(known)).find(pl.Series(asked, dtype=pl.String))
    assert found.tolist() == [number.get(token, -1) for token in asked]


def test_texts_that_share_a_slot():
    known = [f"N{i}" for i in range(200_000)]
    lookup = Lookup(pl.Series(known))
    assert lookup.find(pl.Series(known)).tolist() == list(range(200_000))
    assert set(lookup.find(pl.Series([f"M{i}" for i in range(200_000)])).tolist()) == {-1}
