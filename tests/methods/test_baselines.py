"""The baselines on small data whose right ranking is known."""

from dataclasses import replace

import numpy as np
import pytest
from tests_support import make_articles, make_impressions, make_news

from discreet.errors import DiscreetError
from discreet.evaluation.metrics import ranking_metrics
from discreet.methods.baselines import Combined, Content, Exposure, Popularity, Random, Recency
from discreet.methods.method import TrainingTask
from discreet.methods.method_registry import make_method

TITLES = [
    "football match tonight",
    "football league results",
    "garden flowers bloom",
    "garden soil tips",
    "stock market falls",
]


def test_content_prefers_what_resembles_the_history_and_is_neutral_without_one():
    impressions = make_impressions([[1, 3], [1, 3]], [[1, 0], [1, 0]], histories=[[0], []])
    task = TrainingTask(make_news(make_articles(TITLES), train=impressions), "hashed")
    scores = Content().score(task, {}, impressions, 0)
    assert scores[0] > scores[1]
    assert scores[2] == scores[3] == 0


def test_popularity_counts_only_what_came_before():
    train = make_impressions([[0, 1]] * 3, [[0, 1]] * 3, time=[10, 20, 30])
    dev = make_impressions([[0, 1], [0, 1]], [[1, 0], [1, 0]], time=[5, 40])
    task = TrainingTask(make_news(make_articles(TITLES), train=train, dev=dev), "hashed")
    scores = Popularity().score(task, {}, dev, 0)
    assert scores[0] == scores[1], "nothing was known yet"
    assert scores[3] > scores[2]
    again = Popularity().score(task, {}, train, 0)
    assert again[1] < again[3] < again[5], "a train impression must not see itself or later ones"


def test_popularity_learns_from_earlier_impressions_of_the_same_day():
    train = make_impressions([[0, 1]], [[0, 1]], time=[0])
    dev = make_impressions([[2, 3], [2, 3]], [[1, 0], [1, 0]], time=[10, 20])
    task = TrainingTask(make_news(make_articles(TITLES), train=train, dev=dev), "hashed")
    scores = Popularity().score(task, {}, dev, 0)
    assert scores[0] == scores[1]
    assert scores[2] > scores[3]


def test_recency_prefers_the_later_publication_or_the_later_first_show():
    train = make_impressions([[0, 1], [2, 1]], [[0, 1], [1, 0]], time=[3600, 7200])
    dev = make_impressions([[0, 2, 4]], [[0, 1, 0]], time=[10800])
    unknown = TrainingTask(make_news(make_articles(TITLES), train=train, dev=dev), "hashed")
    old, newer, unseen = Recency().score(unknown, {}, dev, 0)
    assert old < newer < unseen
    dated = make_articles(TITLES, published=[9000, 0, 100, 0, 50])
    zero, two, four = Recency().score(TrainingTask(make_news(dated, train=train, dev=dev), "hashed"), {}, dev, 0)
    assert zero > two > four


def test_random_is_at_one_half_within_its_error():
    rng = np.random.default_rng(11)
    clicked = np.zeros((3000, 20), bool)
    clicked[np.arange(3000), rng.integers(0, 20, 3000)] = True
    impressions = make_impressions(rng.integers(0, 5, (3000, 20)), clicked)
    task = TrainingTask(make_news(make_articles(TITLES), train=impressions), "hashed")
    auc = ranking_metrics(Random().score(task, {}, impressions, 1), impressions)["auc"]
    assert abs(auc.mean() - 0.5) < 4 * auc.std() / np.sqrt(len(auc))


def test_the_combination_is_no_worse_than_its_parts_and_reads_train_only():
    rng = np.random.default_rng(12)
    topics = np.arange(40) % 4
    words = [["football", "goal"], ["garden", "rose"], ["market", "stock"], ["recipe", "soup"]]
    titles = [f"{words[t][0]} {words[t][1]} number{i}" for i, t in enumerate(topics)]
    taste = rng.integers(0, 4, 800)
    shown = rng.integers(0, 40, (800, 10))
    quality = rng.normal(size=40)
    utility = 1.5 * (topics[shown] == taste[:, None]) + quality[shown] + rng.gumbel(size=shown.shape)
    clicked = utility == utility.max(axis=1, keepdims=True)
    histories = [rng.choice(np.flatnonzero(topics == t), 3) for t in taste]
    everything = make_impressions(shown, clicked, histories)
    train, dev = everything.select(np.arange(600)), everything.select(np.arange(600, 800))
    task = TrainingTask(make_news(make_articles(titles), train=train, dev=dev), "hashed")

    def auc(method):
        return ranking_metrics(method.score(task, method.train(task, 0), dev, 0), dev)["auc"].mean()

    combined = auc(Combined())
    assert combined > max(auc(part) for part in Combined().parts)
    flipped = make_impressions(dev_slates(dev), [~c for c in dev_clicks(dev)], time=dev.time)
    other = TrainingTask(make_news(make_articles(titles), train=train, dev=flipped), "hashed")
    assert Combined().train(task, 0)["weights"].tolist() == Combined().train(other, 0)["weights"].tolist()


def dev_slates(part):
    return np.split(part.shown, part.slate[1:-1])


def dev_clicks(part):
    return np.split(part.clicked, part.slate[1:-1])


@pytest.mark.parametrize(
    "method", [Random(), Popularity(), Recency(), Exposure(), Content(), Combined(), Combined(exposure=True)]
)
def test_same_seed_same_scores(method):
    impressions = make_impressions([[0, 1, 2], [2, 3, 4]], [[1, 0, 0], [0, 1, 0]], histories=[[1], [2, 3]])
    task = TrainingTask(make_news(make_articles(TITLES), train=impressions, dev=impressions), "hashed")
    state = method.train(task, 7)
    one, other = (method.score(task, state, impressions, 7) for _ in range(2))
    assert one.shape == impressions.shown.shape
    assert one.tolist() == other.tolist()


def test_exposure_counts_what_was_shown_in_the_last_hours_before_each_impression():
    hour, slates = 3600, [[0, 1], [0, 2], [0, 2], [0, 1, 2]]
    times = np.array([0, 10 * hour, 11 * hour, 13 * hour])
    impressions = make_impressions(slates, [[1, 0], [1, 0], [1, 0], [1, 0, 0]], time=times)
    task = TrainingTask(make_news(make_articles(TITLES), train=impressions), "hashed")
    found = Exposure().score(task, {}, impressions, 0)
    assert np.exp(found).round().tolist() == [1, 1, 2, 1, 3, 2, 3, 1, 3]


@pytest.mark.parametrize(
    ("name", "setting", "value", "problem"),
    [
        ("exposure", "hours", 0, "hours must be above 0"),
        ("exposure", "hours", float("inf"), "hours must be above 0 and at most 87660"),
        ("exposure", "hours", "long", "hours is a number"),
        ("popularity", "prior_shows", float("inf"), "prior_shows must be above 0 and finite"),
        ("fedrec", "rate", 1e39, r"rate above 0 and at most 3.40282e\+38"),
        ("combined", "exposure", "maybe", "exposure is true or false, not 'maybe'"),
        ("combined", "exposure", 1, "exposure is true or false, not '1'"),
    ],
)
def test_a_wrong_setting_is_refused(name, setting, value, problem):
    with pytest.raises(DiscreetError, match=problem):
        make_method(name, {setting: value})


def test_words_say_whether_exposure_is_combined():
    found = [make_method("combined", {"exposure": word}) for word in ("true", "False", True, False)]
    assert found == [Combined(exposure=yes) for yes in (True, False, True, False)]


def test_exposure_of_sampled_slates_says_nothing_of_clicks():
    """The drawn articles are the same; what was clicked among them differs."""
    found = []
    for clicked in (3, 4):
        drawn = make_impressions([[0, 1, clicked]] * 3, [[0, 0, 1]] * 3, time=np.arange(3) * 60)
        sampled = replace(drawn, sampled=True)
        task = TrainingTask(make_news(make_articles(TITLES), train=sampled), "hashed")
        asked = make_impressions([[0, 1, 2, 3, 4]], [[1, 0, 0, 0, 0]], time=np.array([600]))
        found.append(Exposure().score(task, {}, asked, 0).tolist())
    assert found[0] == found[1]
