"""Who joins a round: by coins, never too often, and on disk before anything leaves."""

import numpy as np
import pytest

from discreet.errors import InputError
from discreet.privacy.noise import SecureNoise
from discreet.training.participation_book import BookFile
from discreet.training.randomness import PastRound, SamplingPlan, SecretRandomness, SimulatedRandomness

READERS = np.arange(4000, dtype=np.int32)


def simulated(randomness, plan, readers=READERS):
    joined = np.zeros(len(readers), np.int64)
    sizes = []
    for number in range(1, plan.rounds + 1):
        positions = randomness.joining(readers, number, plan)
        joined[positions] += 1
        sizes.append(len(positions))
    return joined, sizes


@pytest.mark.parametrize("kind", ["simulated", "secret"])
def test_coins_have_their_rate_and_nobody_joins_too_often(kind, tmp_path):
    randomness = (
        SimulatedRandomness(seed=3) if kind == "simulated" else SecretRandomness(BookFile(tmp_path / "book", "readers"))
    )
    plan = SamplingPlan(rate=0.25, max_rounds_joined=3, rounds=12)
    joined, sizes = simulated(randomness, plan)
    assert joined.max() == 3
    for size in sizes[:3]:  # nobody can have reached the cap yet
        assert abs(size - 1000) < 5 * np.sqrt(4000 * 0.25 * 0.75)
    heads = np.random.default_rng(0).binomial(12, 0.25, 100_000)
    assert joined.mean() == pytest.approx(np.minimum(heads, 3).mean(), abs=0.06)


@pytest.mark.parametrize("kind", ["simulated", "secret"])
def test_at_rate_one_all_join_until_the_cap(kind, tmp_path):
    randomness = (
        SimulatedRandomness(seed=3) if kind == "simulated" else SecretRandomness(BookFile(tmp_path / "book", "readers"))
    )
    _, sizes = simulated(randomness, SamplingPlan(rate=1.0, max_rounds_joined=2, rounds=4), READERS[:50])
    assert sizes == [50, 50, 0, 0]


def test_simulated_chance_depends_on_reader_and_node_alone():
    randomness, plan = SimulatedRandomness(seed=3), SamplingPlan(0.5, 5, 8)
    among_all = READERS[randomness.joining(READERS, 6, plan)]
    some = READERS[::7]
    assert np.array_equal(some[randomness.joining(some, 6, plan)], np.intersect1d(among_all, some))
    draws = [SimulatedRandomness(3, node).noise(number).random_bytes(8) for node in (0, 1) for number in (1, 2)]
    assert len(set(draws)) == 4
    assert SimulatedRandomness(3, 1).noise(2).random_bytes(8) == draws[3]


def test_the_book_outlives_a_restart_and_ends_with_the_rounds(tmp_path):
    book, plan = tmp_path / "books" / "one", SamplingPlan(rate=1.0, max_rounds_joined=5, rounds=3)
    for number in (1, 3):
        assert len(SecretRandomness(BookFile(book, "a")).joining(READERS[:9], number, plan)) == 9
        for past in range(1, number + 1):
            with pytest.raises(PastRound, match=f"round {past} is over"):
                SecretRandomness(BookFile(book, "a")).joining(READERS[:9], past, plan)
    with pytest.raises(ValueError, match="no round 4"):
        SecretRandomness(BookFile(book, "a")).joining(READERS[:9], 4, plan)
    assert isinstance(SecretRandomness(BookFile(book, "a")).noise(1), SecureNoise)


def test_another_book_or_a_broken_one_lets_nobody_join(tmp_path):
    book, plan = tmp_path / "book", SamplingPlan(1.0, 5, 9)
    SecretRandomness(BookFile(book, "a")).joining(READERS[:9], 1, plan)
    for audience, readers in (("b", READERS[:9]), ("a", READERS[:8]), ("a", READERS[1:10])):
        with pytest.raises(InputError, match="other readers"):
            SecretRandomness(BookFile(book, audience)).joining(readers, 2, plan)
    book.write_bytes(b"not a book")
    with pytest.raises(InputError, match="no book of participations"):
        SecretRandomness(BookFile(book, "a")).joining(READERS[:9], 2, plan)
    assert book.read_bytes() == b"not a book"
