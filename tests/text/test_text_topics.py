"""Public topics found in title vectors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.text.topics import TopicSpace, find_topics
from discreet.text.word_vectors import unit_rows


def clustered(rng, clusters, each, dimension=12, noise=0.15):
    """Unit vectors around orthogonal directions, and the cluster of each."""
    directions = np.eye(dimension, dtype=np.float32)[:clusters]
    member = np.repeat(np.arange(clusters), each)
    noisy = directions[member] + rng.normal(0, noise, (len(member), dimension))
    return unit_rows(noisy.astype(np.float32)), member


@given(st.integers(2, 8), st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_clear_clusters_are_found(clusters, seed):
    vectors, member = clustered(np.random.default_rng(seed), clusters, 30)
    space = find_topics(vectors, clusters)
    found = space.topics_of(vectors)
    assert len({(a, b) for a, b in zip(member.tolist(), found.tolist(), strict=True)}) == clusters
    assert np.allclose(np.linalg.norm(space.centres, axis=1), 1, atol=1e-5)


def test_profiles_are_the_mean_titles_of_the_topics():
    vectors, _ = clustered(np.random.default_rng(1), 4, 25)
    space = find_topics(vectors, 4)
    topic = space.topics_of(vectors)
    for k in range(4):
        assert np.allclose(space.profiles[k], vectors[topic == k].mean(axis=0), atol=1e-5)


def test_every_article_has_a_topic_and_an_untitled_one_the_first():
    vectors, _ = clustered(np.random.default_rng(2), 3, 10)
    space = find_topics(np.vstack((vectors, np.zeros((5, 12), np.float32))), 3)
    topics = space.topics_of(np.vstack((vectors, np.zeros((1, 12), np.float32))))
    assert topics.min() >= 0
    assert topics.max() < len(space) == 3
    assert topics[-1] == 0


def test_untitled_articles_do_not_change_the_topics():
    vectors, _ = clustered(np.random.default_rng(3), 3, 10)
    padded = np.vstack((vectors, np.zeros((7, 12), np.float32)))
    assert find_topics(vectors, 3).version == find_topics(padded, 3).version


def test_the_version_names_the_space():
    vectors, _ = clustered(np.random.default_rng(4), 4, 20)
    space, again, other = find_topics(vectors, 4), find_topics(vectors, 4), find_topics(vectors, 3)
    assert space.version == again.version
    assert space.version != other.version
    assert TopicSpace(space.centres, space.profiles * 2).version != space.version


def test_more_topics_than_titles_are_refused():
    vectors, _ = clustered(np.random.default_rng(5), 2, 2)
    with pytest.raises(ValueError, match="5 topics cannot be found in 4 titles"):
        find_topics(vectors, 5)


def test_as_many_topics_as_titles_is_one_title_each():
    vectors = np.eye(6, dtype=np.float32)
    assert sorted(find_topics(vectors, 6).topics_of(vectors).tolist()) == list(range(6))
