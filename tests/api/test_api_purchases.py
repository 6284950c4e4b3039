"""Implicit feedback from a program: open, fit, recommend, compare."""

import discreet as d
from discreet.data.synthetic import purchases_world, write_purchases


def test_a_program_fits_recommends_and_compares(tmp_path):
    write_purchases(purchases_world(90, 40, seed=2), tmp_path / "shop")
    purchases = d.open_purchases(tmp_path / "shop")
    for model in (d.EASE(ridge=50.0), d.IALS(rank=8), d.PopularItems()):
        fitted = model.fit(purchases)
        items = fitted.recommend("u1", 3)
        assert len(items) == 3
        assert len(fitted.similar_items(items[0][0], 2)) == 2
    sharing = d.RankingSharing(epsilon=5, models=(d.PopularItems(),))
    found = d.compare_vendors(purchases, vendors=3, methods=["popularity", sharing])
    assert [row["method"] for row in found.records()] == ["local", "popularity", "sharing"]
    assert found.results[2].guarantee.epsilon == 5
    assert found.verdict()
