"""The recommender that Python programs use: by name, from frames and matrices, and as a file."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import coo_array, csr_matrix

import discreet as d
from discreet.data.synthetic.rating_world import ratings_world
from discreet.errors import DiscreetError

WORLD = ratings_world(40, 30, 500, seed=2)
COLUMNS = {
    "user": [f"u{WORLD.users[user]}" for user in WORLD.user],
    "item": [f"i{WORLD.items.ids[item]}" for item in WORLD.item],
    "rating": WORLD.value.tolist(),
}


@pytest.fixture(scope="module")
def model():
    return d.Gibbs(rank=2, iterations=20).fit(d.Ratings.from_frame(COLUMNS, scale=(1, 5)))


def test_predicts_recommends_and_finds_similar_items_by_name(model):
    user, item = COLUMNS["user"][0], COLUMNS["item"][0]
    assert 1 <= model.predict(user, item) <= 5
    assert model.predict([user, user], [item, item]).shape == (2,)
    found = model.recommend(user, 5)
    rated = {i for u, i, _ in zip(*COLUMNS.values(), strict=True) if u == user}
    assert len(found) == 5
    assert not rated & {each.item for each in found}
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert found[0].score == pytest.approx(model.predict(user, found[0].item))
    similar = model.similar_items(item, 3)
    assert len(similar) == 3
    assert item not in {each.item for each in similar}
    with pytest.raises(DiscreetError, match="no user 'nobody'"):
        model.recommend("nobody")
    with pytest.raises(DiscreetError, match="no item 'nothing'"):
        model.predict(user, "nothing")


def test_frames_of_pandas_and_polars_are_the_same_ratings():
    expected = d.Ratings.from_frame(COLUMNS)
    for frame in (pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS)):
        found = d.Ratings.from_frame(frame)
        assert np.array_equal(found.user, expected.user)
        assert np.array_equal(found.value, expected.value)
        assert found.items.ids == expected.items.ids


def test_a_sparse_matrix_is_ratings_too():
    shape = (len(WORLD.users), len(WORLD.items))
    matrix = csr_matrix((WORLD.value, (WORLD.user, WORLD.item)), shape=shape)
    found = d.Ratings.from_sparse(matrix, users=WORLD.users, items=WORLD.items.ids, scale=(1, 5))
    assert len(found) == len(WORLD)
    assert found.scale == (1, 5)
    assert found.items.ids == WORLD.items.ids
    fitted = d.Gibbs(rank=1, iterations=4).fit(d.Ratings.from_sparse(matrix))
    assert 1 <= fitted.predict(3, 4) <= 5, "names default to numbers"
    with pytest.raises(DiscreetError, match="do not fit"):
        d.Ratings.from_sparse(matrix, users=["one"])
    with pytest.raises(DiscreetError, match="twice"):
        d.Ratings.from_sparse(coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2)))
    with pytest.raises(DiscreetError, match="outside the scale"):
        d.Ratings.from_sparse(matrix, scale=(1, 2))


def test_a_model_is_the_same_after_it_was_a_file(model, tmp_path):
    model.save(tmp_path / "model")
    again = d.Recommender.load(tmp_path / "model")
    user = COLUMNS["user"][0]
    assert again.recommend(user, 4) == model.recommend(user, 4)
    lines = model.write_recommendations(tmp_path / "predictions.csv", k=3)
    written = pl.read_csv(tmp_path / "predictions.csv")
    assert len(written) == lines == 3 * len(model.users)
    assert written.columns == ["user", "rank", "item", "title", "expected_rating"]
    (tmp_path / "other").write_text("no model")
    for name in ("other", "nowhere"):
        with pytest.raises(DiscreetError, match=name):
            d.Recommender.load(tmp_path / name)


def test_the_example_of_the_documentation_runs(tmp_path, monkeypatch, capsys):
    page = Path(__file__).parents[2] / "docs" / "how-to" / "vendors.md"
    example = page.read_text("utf-8").split("## In Python")[1].split("```python")[1].split("```")[0]
    rows = zip(*COLUMNS.values(), strict=True)
    (tmp_path / "ratings.csv").write_text("\n".join(["user,item,rating", *(f"{u},{i},{r:g}" for u, i, r in rows)]))
    monkeypatch.chdir(tmp_path)
    exec(compile(example, str(page), "exec"), {})
    assert capsys.readouterr().out.count("Scored") == 10 + 5 + 3


def test_a_frame_is_not_fitted_but_opened_first():
    with pytest.raises(DiscreetError, match=r"fit needs ratings, not a DataFrame: discreet.open_ratings"):
        d.Gibbs().fit(pd.DataFrame(COLUMNS))
    assert len(d.open_ratings(pd.DataFrame(COLUMNS))) == len(COLUMNS["user"])
