"""What readers hold for training, and what is drawn for a round."""

import numpy as np
import pytest
from small_log import make_impressions

from discreet.data.news import Impressions
from discreet.training.clients import Clients
from discreet.training.draws import gaussian, laplace, uniforms
from discreet.training.samples import ANONYMOUS


def one_reader(slate, clicked, history):
    return alike_readers(1, slate, clicked, history)


def alike_readers(count, slate, clicked, history):
    """Readers with one and the same impression and history."""
    return Impressions(
        reader=np.arange(7, 7 + count, dtype=np.int32),
        time=np.arange(count),
        slate=np.arange(count + 1) * len(slate),
        shown=np.tile(np.array(slate, dtype=np.int32), count),
        clicked=np.tile(np.array(clicked, dtype=bool), count),
        timeline=np.array(history, dtype=np.int32),
        history_start=np.zeros(count, dtype=np.int64),
        history_stop=np.full(count, len(history)),
    )


def plain_samples(impressions, history_length):
    """All (reader, clicked, unclicked of the slate, history), one impression after the other."""
    found = []
    for i in range(len(impressions)):
        part = slice(impressions.slate[i], impressions.slate[i + 1])
        shown, clicked = impressions.shown[part], impressions.clicked[part]
        if clicked.all():
            continue
        history = tuple(impressions.history(i)[-history_length:].tolist())
        unclicked = tuple(sorted(shown[~clicked].tolist()))
        found += [(int(impressions.reader[i]), int(article), unclicked, history) for article in shown[clicked]]
    return sorted(found)


@pytest.mark.parametrize("growing", [False, True])
def test_samples_are_those_of_a_plain_reading(growing):
    impressions = make_impressions(readers=20, growing=growing)
    clients = Clients.from_impressions(impressions, history_length=5)
    found = []
    for client, reader in enumerate(clients.reader):
        for view in range(clients.first_view[client], clients.first_view[client + 1]):
            history = tuple(clients.timeline[clients.history_start[view] : clients.history_stop[view]].tolist())
            for i in range(clients.first_sample[view], clients.first_sample[view + 1]):
                pool = sorted(clients.pool[clients.pool_start[i] : clients.pool_stop[i]].tolist())
                found.append((int(reader), int(clients.clicked[i]), tuple(pool), history))
    assert sorted(found) == plain_samples(impressions, 5)
    assert clients.sample_counts.sum() == len(found)


def test_samples_with_one_history_share_a_view():
    clients = Clients.from_impressions(make_impressions(readers=20))
    assert (np.diff(clients.first_view) == 1).all()


def test_negatives_differ_and_come_from_the_same_slate():
    clients = Clients.from_impressions(alike_readers(3000, range(10), [1] + [0] * 9, [3, 4]))
    candidates = clients.draw(np.arange(3000), seed=0, round_=0).candidates
    assert (candidates[:, 0] == 0).all()
    assert (np.diff(np.sort(candidates, axis=1), axis=1) > 0).all()
    seen = np.bincount(candidates[:, 1:].ravel(), minlength=10)
    np.testing.assert_allclose(seen[1:] / 3000, 4 / 9, atol=0.05)  # 5 standard errors
    drawn = np.zeros((3000, 10))
    np.put_along_axis(drawn, candidates[:, 1:], 1, axis=1)
    together = (drawn.T @ drawn)[1:, 1:][np.triu_indices(9, 1)] / 3000
    np.testing.assert_allclose(together, 4 * 3 / (9 * 8), atol=0.035)  # every two of them equally often


def test_few_unclicked_are_drawn_with_replacement():
    clients = Clients.from_impressions(one_reader([5, 6, 7], [1, 0, 0], [1]))
    drawn = np.concatenate([clients.draw(np.array([0]), 0, r).candidates[0, 1:] for r in range(50)])
    assert set(drawn.tolist()) == {6, 7}


def test_reader_without_unclicked_articles_is_no_client():
    assert len(Clients.from_impressions(one_reader([5, 6], [1, 1], [1]))) == 0


def test_unlabelled_impressions_are_refused():
    test_set = make_impressions()
    with pytest.raises(ValueError, match="without published clicks"):
        Clients.from_impressions(Impressions(**(vars(test_set) | {"labelled": False})))


def test_history_clicks_follow_their_prefix():
    impressions = one_reader([5, 6, 7, 8, 9], [1, 0, 0, 0, 0], [1, 2, 3, 4])
    clients = Clients.from_impressions(impressions, history_length=2, history_clicks=2)
    samples = clients.draw(np.array([0]), seed=0, round_=0)
    histories = [samples.history[samples.history_view == view].tolist() for view in samples.sample_view]
    pairs = dict(zip(samples.candidates[:, 0].tolist(), histories, strict=True))
    assert pairs == {5: [3, 4], 4: [2, 3], 3: [1, 2]}
    for clicked, *negatives in samples.candidates.tolist():
        assert set(negatives) <= ({6, 7, 8, 9} if clicked == 5 else {1, 2, 3, 4} - {clicked})


def test_history_clicks_never_take_the_first_click_nor_the_clicked_as_negative():
    impressions = one_reader([1, 2, 3, 4, 5], [1, 0, 0, 0, 0], [4, 5])
    clients = Clients.from_impressions(impressions, history_clicks=9)
    for round_ in range(100):
        samples = clients.draw(np.array([0]), seed=0, round_=round_)
        assert sorted(samples.candidates[:, 0].tolist()) == [1, 5]
        assert (samples.candidates[:, 1:] != samples.candidates[:, :1]).all()


def all_drawn(samples):
    return samples.with_masked_clicks(0.4).with_permuted_labels(0.5)


def test_draws_do_not_depend_on_who_else_takes_part():
    clients = Clients.from_impressions(make_impressions(growing=True))
    together = all_drawn(clients.draw(np.arange(len(clients)), seed=3, round_=9))
    together = together.with_randomness(together.view_uniforms("noise", 3))
    chosen = np.array([1, 4, 5])
    apart = all_drawn(clients.draw(chosen, seed=3, round_=9))
    apart = apart.with_randomness(apart.view_uniforms("noise", 3))
    picked = together.select(chosen)
    for name, value in vars(apart).items():
        np.testing.assert_array_equal(getattr(picked, name), value, err_msg=name)


def test_draws_differ_by_seed_round_and_purpose():
    readers, columns = np.arange(50)[:, None], np.arange(4)
    draws = [uniforms(s, r, p, readers, columns) for s in (0, 1) for r in (0, 1) for p in ("a", "b")]
    draws.append(uniforms(0, 0, "a", readers, columns + 4))
    flat = np.concatenate([d.ravel() for d in draws])
    assert len(np.unique(flat)) == len(flat)


def test_uniforms_look_uniform_and_uncorrelated():
    draw = uniforms(0, 0, "x", np.arange(20_000)[:, None], np.arange(5))
    assert draw.min() > 0
    assert draw.max() < 1
    counts = np.bincount((draw.ravel() * 100).astype(int), minlength=100)
    assert ((counts - 1000) ** 2 / 1000).sum() < 150  # χ² with 99 degrees of freedom: p ≈ 0.0007
    neighbours = np.corrcoef(draw.T) - np.eye(5)
    assert np.abs(neighbours).max() < 0.03
    assert abs(np.corrcoef(draw[1:, 0], draw[:-1, 0])[0, 1]) < 0.03


def test_noise_from_uniforms_has_its_moments():
    draw = uniforms(0, 0, "x", np.arange(200_000))
    assert gaussian(draw, 2.0).std() == pytest.approx(2.0, rel=0.02)
    assert np.abs(laplace(draw, 2.0)).mean() == pytest.approx(2.0, rel=0.02)


def test_masked_clicks_and_permuted_labels_have_their_rates():
    impressions = make_impressions(readers=400, longest=30)
    clients = Clients.from_impressions(impressions)
    samples = clients.draw(np.arange(len(clients)), 0, 0)
    masked = samples.with_masked_clicks(0.3)
    assert (masked.history == ANONYMOUS).mean() == pytest.approx(0.3, abs=0.03)
    kept = masked.history != ANONYMOUS
    np.testing.assert_array_equal(masked.history[kept], samples.history[kept])
    permuted = samples.with_permuted_labels(0.6)
    rates = np.bincount(permuted.target, minlength=5) / len(samples)
    np.testing.assert_allclose(rates, [0.6, 0.1, 0.1, 0.1, 0.1], atol=0.05)


def test_a_client_takes_part_once():
    clients = Clients.from_impressions(make_impressions())
    with pytest.raises(ValueError, match="at most once"):
        clients.draw(np.array([1, 1]), 0, 0)
