"""The privacy notice says what the guarantees of what is served say, and nothing else."""

from datetime import UTC, datetime, timedelta

import pytest
from aggregation_tasks import task
from served_world import StandInModel, small_world

from discreet.privacy.ledger import Schedule
from discreet.serving.about import Offer
from discreet.serving.learning.one_process_trial import WARNING
from discreet.serving.notice import WORDS, notice_of
from discreet.serving.public_model import PublicModel

SCHEDULE = Schedule(datetime(2026, 1, 1, tzinfo=UTC), timedelta(days=7))
SUM = task(leader="https://rank.example/dap", helper="https://helper.example", epsilon=0.7, purpose="Counts clicks.")


@pytest.fixture(scope="module")
def public():
    return PublicModel(("Harbour opens a new pier", "Choir sings in the square"), "hashed")


def told(model, offer):
    return {one["name"]: one["text"] for one in notice_of(model, offer).to_json()["sentences"]}


def test_a_feed_alone_promises_that_nothing_leaves(public):
    found = told(public, Offer("local", SCHEDULE, reports=False))
    assert list(found) == ["stays", "ranked_on_device", "epsilon", "not_covered", "code"]


def test_sums_are_told_with_their_parties_costs_and_caps(public):
    found = told(public, Offer("local", SCHEDULE, reports=False, tasks=(SUM,)))
    assert found["sum_purpose"] == "Counts clicks."
    assert "rank.example gets one half, helper.example the other" in found["sum_how"]
    assert "once every hour" in found["sum_how"]
    assert "ε = 0.7" in found["sum_cost"]
    assert str(SUM.guarantee()) in found["sum_cost"]
    assert "different people" in found["collusion"]
    assert "at most ε = 1 a day and ε = 10 over its life" in found["caps"]
    assert "warning" not in found


def test_a_trial_is_warned_of_first_and_promises_nothing(public):
    notice = notice_of(public, Offer("local", SCHEDULE, reports=False, tasks=(SUM,), warning=WARNING))
    assert notice.as_text().splitlines()[2] == WARNING
    cost = next(str(one) for one in notice.sentences if one.name == "sum_cost")
    assert "ε = ∞" in cost
    assert "0.7" not in cost
    assert "at most ε" not in notice.as_text()
    assert f"<p class=warning>{WARNING}</p>" in notice.as_html()


def test_releases_are_told_where_they_are_asked_for():
    model = StandInModel(list(small_world().articles.titles))
    found = told(model, Offer("shortlist", SCHEDULE))
    assert "ε = 0.7" in found["ranked_by_sketch"]
    assert "ε = 0.3" in found["labels"]
    assert str(model.guarantee()) in found["click_promise"]
    assert "ranked_on_device" not in found


def test_sentences_can_be_put_together_again_in_another_language(public):
    fields = notice_of(public, Offer("local", SCHEDULE, tasks=(SUM,))).to_json()
    for sentence in fields["sentences"]:
        assert sentence["words"] == WORDS[sentence["name"]]
        assert sentence["words"].format(**sentence["parameters"]) == sentence["text"]
    html = notice_of(public, Offer("local", SCHEDULE, tasks=(task(purpose="<b>loud</b>"),))).as_html()
    assert "&lt;b&gt;loud&lt;/b&gt;" in html
