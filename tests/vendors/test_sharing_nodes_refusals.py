"""What a vendor's node refuses, in one clear line, and that nothing is spent then."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sharing_consortium import Consortium, job_for, with_limit, write_csv

from discreet.data.open import open_ratings
from discreet.data.synthetic.rating_world import ratings_world
from discreet.edge.node.spending import Spending
from discreet.edge.vendor.contribution_record import ContributionRecord
from discreet.edge.vendor.own_ratings import on_catalogue, vendor_ratings
from discreet.edge.vendor.sharing_node import job_opener
from discreet.errors import DiscreetError, InputError
from discreet.nodes import Assignment, Contribute, SecureSums
from discreet.nodes.configuration import NodeSettings
from discreet.progress import shown
from discreet.vendors.sharing.coordinator import share_over_nodes
from discreet.vendors.sharing.job import ShareJob
from discreet.vendors.sharing.releases import Releases, load_complete
from discreet.vendors.sharing.sharing_rounds import Opening, Round
from discreet.vendors.sharing.tasks import SharingTask

VENDORS = 3


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(ratings_world(90, 40, 1500, seed=6), tmp_path_factory.mktemp("vendors") / "films.csv")


@pytest.fixture
def settings(data: Path, tmp_path: Path) -> NodeSettings:
    return NodeSettings(tmp_path / "node", 1, data, "1/3", 8.0, "simulated")


def whole(asked: Round, number: int = 0) -> Assignment:
    return Assignment(SharingTask(number, asked).to_bytes(40), (1, 2, 3), VENDORS, known=4)


def even(job: ShareJob, share: float) -> Opening:
    return Opening.even(share, len(job.items))


def opened(settings: NodeSettings, job: ShareJob) -> Contribute:
    return job_opener(settings)(job.to_bytes())


def test_a_job_with_more_epsilon_than_the_vendor_allows(settings: NodeSettings, data: Path) -> None:
    with pytest.raises(
        DiscreetError, match=r"ε = 8\.5, δ = 1e-05 per user \(add/remove\) is more than the ε = 8 that this node allows"
    ):
        opened(settings, job_for(data, VENDORS, 8.5))
    opened(settings, job_for(data, VENDORS, 8.0))


def test_jobs_add_up_for_life(settings: NodeSettings, data: Path) -> None:
    first, second, third = (job_for(data, VENDORS, 4.0, name=name) for name in ("2026", "2027", "2028"))
    for job in (first, second):
        opened(settings, job)(whole(even(job, 0.1)))
    with pytest.raises(
        DiscreetError, match=r"ε = 4, δ = 1e-05 per user \(add/remove\) after 8 for other jobs is more than the ε = 8"
    ):
        opened(settings, third)
    opened(settings, first)(whole(even(first, 0.2), 1))  # one that was paid for goes on
    opened(replace(settings, folder=settings.folder / "another"), third)


def test_two_jobs_opened_side_by_side_do_not_both_spend_what_is_left(settings: NodeSettings, data: Path) -> None:
    jobs = [job_for(data, VENDORS, 5.0, name=name) for name in ("a", "b")]
    contribute = [opened(settings, job) for job in jobs]
    contribute[0](whole(even(jobs[0], 0.1)))
    with pytest.raises(DiscreetError, match="after 5 for other jobs"):
        contribute[1](whole(even(jobs[1], 0.1)))
    assert ContributionRecord(settings.folder / "shared").given(jobs[1]) == []


def test_a_job_that_was_only_opened_costs_nothing(settings: NodeSettings, data: Path) -> None:
    for number in range(5):
        opened(settings, job_for(data, VENDORS, 6.0, name=str(number)))
    assert not list(settings.folder.glob("shared/*.safetensors"))


def test_too_large_a_delta(settings: NodeSettings, data: Path) -> None:
    with pytest.raises(DiscreetError, match=r"δ = 0\.01"):
        opened(settings, replace(job_for(data, VENDORS, 1.0), delta=0.01))


def test_a_damaged_record_stops_what_it_is_about(settings: NodeSettings, data: Path) -> None:
    job = job_for(data, VENDORS, 1.0)
    contribute = opened(settings, job)
    contribute(whole(even(job, 0.1)))
    for path, problem in (("shared/*.safetensors", "is damaged"), ("spent/*.json", "what a job has cost")):
        (found,) = settings.folder.glob(path)
        found.write_bytes(found.read_bytes()[:10])
        with pytest.raises(InputError, match=problem):
            opened(settings, replace(job, name="books") if "spent" in path else job)(whole(even(job, 0.1)))


def test_a_vendor_that_has_lost_what_it_gave_does_not_answer_anew(settings: NodeSettings, data: Path) -> None:
    """With other noise, the second answer would tell more than was charged."""
    job = job_for(data, VENDORS, 1.0)
    opened(settings, job)(whole(even(job, 0.1)))
    shutil.rmtree(settings.folder / "shared")
    with pytest.raises(DiscreetError, match="is lost"):
        opened(settings, job)(whole(even(job, 0.1)))


def test_an_answer_that_was_kept_but_not_charged_is_charged_when_it_leaves(
    settings: NodeSettings, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_for(data, VENDORS, 5.0)
    with monkeypatch.context() as stopped:
        stopped.setattr(Spending, "charge", _fail)
        with pytest.raises(OSError, match="no more room"):
            opened(settings, job)(whole(even(job, 0.1)))
    (kept,) = ContributionRecord(settings.folder / "shared").given(job)
    assert np.array_equal(opened(settings, job)(whole(even(job, 0.1))).values, kept.values)
    with pytest.raises(DiscreetError, match="after 5 for other jobs"):
        opened(settings, replace(job, name="books"))


def _fail(*_: object) -> None:
    raise OSError("no more room")


def test_a_trial_without_a_limit_may_be_repeated_as_often_as_one_likes(settings: NodeSettings, data: Path) -> None:
    trial = replace(settings, max_epsilon=math.inf)
    for number in range(12):
        job = job_for(data, VENDORS, 20.0, name=str(number))
        opened(trial, job)(whole(even(job, 0.1)))
    assert len(list((settings.folder / "spent").iterdir())) == 12


def test_a_job_for_others(settings: NodeSettings, data: Path) -> None:
    with pytest.raises(DiscreetError, match="not one of the job's vendors"):
        opened(replace(settings, number=9), job_for(data, VENDORS, 1.0))
    with pytest.raises(DiscreetError, match="not one of vendors' sharing"):
        job_opener(settings)(b'{"kind":"train"}\n')
    with pytest.raises(DiscreetError, match="no seed"):
        opened(settings, job_for(data, VENDORS, 1.0, seed=None))


def test_ratings_that_do_not_fit_are_left_out_or_moved_and_never_refused(
    settings: NodeSettings, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A refusal would tell, without any noise, that somebody has rated such an item, or so high."""
    job = job_for(data, VENDORS, 1.0)
    other = tmp_path / "other.csv"
    for line, said in (
        ("zoe,a secret film,4\n", "1 ratings are of no item of 'films'"),
        (f"zoe,{job.items[0]},77\n", "1 ratings are off the scale"),
        (f"zoe,{job.items[0]},1\n", "are these the same stars?"),
    ):
        other.write_text("user,item,rating\n" + line)
        with shown():
            opened(replace(settings, data=other, part=None), job)(whole(even(job, 0.1)))
        assert said in " ".join(capsys.readouterr().err.split())
        shutil.rmtree(settings.folder)
    for scale in ((1.0, 4.0), (2.0, 5.0), (0.0, 10.0)):
        moved = on_catalogue(vendor_ratings(settings), replace(job, scale=scale))
        assert scale[0] <= moved.value.min()
        assert moved.value.max() <= scale[1]


def test_a_vendor_gives_of_ratings_that_do_not_fit_what_it_would_give_without_them(data: Path, tmp_path: Path) -> None:
    job = job_for(data, VENDORS, 1.0)
    fitting = f"user,item,rating\nzoe,{job.items[0]},5\nada,{job.items[1]},2\n"
    (tmp_path / "a.csv").write_text(fitting + f"zoe,{job.items[2]},5\n")
    (tmp_path / "b.csv").write_text(fitting + f"zoe,{job.items[2]},9\nzoe,unknown,1\nbob,unknown,1\n")
    given = [
        even(job, 0.1).contribution(on_catalogue(vendor_ratings(NodeSettings(tmp_path, 1, tmp_path / name)), job))
        for name in ("a.csv", "b.csv")
    ]
    assert np.array_equal(*given)


def test_a_program_that_fails_over_the_ratings_gives_its_noise_and_nothing_else(
    settings: NodeSettings, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("zoe")

    monkeypatch.setattr("discreet.vendors.sharing.contributions.opening", fail)
    job = job_for(data, VENDORS, 1.0)
    given = opened(settings, job)(whole(even(job, 0.1))).values
    assert given.shape == (2 * len(job.items),)
    assert given.any()


def test_a_node_whose_ratings_cannot_be_read_does_not_start(settings: NodeSettings, tmp_path: Path) -> None:
    """Its operator is told which line; a server that asked later would be told, too, that there is such a line."""
    (tmp_path / "own.csv").write_text("user,item,rating\nzoe,a,4\nzoe,a,5\n")
    with pytest.raises(InputError, match="user zoe rates item a a second time"):
        job_opener(replace(settings, data=tmp_path / "own.csv", part=None))


def test_the_catalogue_numbers_the_items(data: Path, tmp_path: Path) -> None:
    """A vendor's own file with fewer items, in another order."""
    ratings = open_ratings(data)
    ids = (*sorted(ratings.items.ids, reverse=True), "nobody rated this")
    job = replace(job_for(data, VENDORS, 1.0), items=ids)
    lines = [f"u,{item},{value}" for item, value in zip(ratings.items.ids[:4], (1, 5, 2, 4), strict=True)]
    (tmp_path / "own.csv").write_text("\n".join(["user,item,rating", *lines]))
    own = on_catalogue(vendor_ratings(NodeSettings(tmp_path, 1, tmp_path / "own.csv")), job)
    assert [ids[item] for item in own.item] == list(ratings.items.ids[:4])
    assert own.value.tolist() == [1, 5, 2, 4]
    assert tuple(own.items.ids) == ids
    assert own.scale == job.scale
    assert len(own.items.genres) == len(own.items.titles) == len(own.items.years) == len(ids)
    counts = even(job, 1.0).contribution(own)[len(ids) :]
    assert {ids[item] for item in np.flatnonzero(counts)} == set(ratings.items.ids[:4])


@pytest.mark.parametrize(
    ("invited", "quorum"), [((1, 2, 3), 2), ((1, 2), 2), ((1, 2, 3, 4), 4), ((1, 2, 3, 4), 3), ((1, 2, 4), 3)]
)
def test_a_sum_in_which_a_vendor_may_be_missing(
    settings: NodeSettings, data: Path, invited: tuple[int, ...], quorum: int
) -> None:
    job = job_for(data, VENDORS, 1.0)
    with pytest.raises(DiscreetError, match="all 3 vendors must be in it"):
        opened(settings, job)(Assignment(SharingTask(0, even(job, 0.1)).to_bytes(40), invited, quorum, known=4))
    assert not settings.folder.exists()


def test_the_usual_secure_sum_which_can_do_without_some_is_refused_over_the_wire(data: Path, tmp_path: Path) -> None:
    consortium, job = Consortium(data, tmp_path, 4), job_for(data, 4, 1.0)
    usual = SecureSums(consortium, consortium.roster, job.to_bytes(), job.budget.guarantee(), timeout=0.1)
    with pytest.raises(DiscreetError, match="all 4 vendors must be in it"):
        share_over_nodes(usual, job, tmp_path / "out")


def test_another_question_in_the_place_of_one_that_was_answered(settings: NodeSettings, data: Path) -> None:
    job = job_for(data, VENDORS, 5.0)
    first, again = opened(settings, job), opened(settings, job)
    answer = first(whole(even(job, 0.3)))
    assert np.array_equal(again(whole(even(job, 0.3))).values, answer.values)
    for wrong in (even(job, 0.2), replace(even(job, 0.3), emphasis=np.full(len(job.items), 1.0 + 2**-52))):
        with pytest.raises(DiscreetError, match="another question"):
            again(whole(wrong))
    with pytest.raises(DiscreetError, match="round 3 comes after round 1"):
        again(whole(even(job, 0.1), 2))


def test_more_rounds_than_the_budget_has_shares_for_whoever_is_restarted(settings: NodeSettings, data: Path) -> None:
    job = job_for(data, VENDORS, 5.0)
    opened(settings, job)(whole(even(job, 0.7)))
    with pytest.raises(DiscreetError, match=r"too much after 0\.7"):
        opened(settings, job)(whole(even(job, 0.4), 1))
    opened(settings, job)(whole(even(job, 0.3), 1))
    assert len(ContributionRecord(settings.folder / "shared").given(job)) == 2


def test_nothing_is_given_that_could_not_be_written_down(settings: NodeSettings, data: Path) -> None:
    job = job_for(data, VENDORS, 5.0)
    contribute = opened(settings, job)
    settings.folder.mkdir()
    (settings.folder / "shared").write_text("in the way")
    with pytest.raises(OSError, match="shared"):
        contribute(whole(even(job, 0.7)))
    (settings.folder / "shared").unlink()
    contribute(whole(even(job, 0.7)))  # the failure has spent nothing


def test_refusals_reach_the_server_in_one_line_and_name_no_rating(data: Path, tmp_path: Path) -> None:
    consortium, job = Consortium(data, tmp_path, VENDORS, with_limit(0.5)), job_for(data, VENDORS, 1.0)
    with pytest.raises(DiscreetError, match=r"more than the ε = 0\.5 that this node allows") as refused:
        share_over_nodes(consortium.sums(job, 0.1), job, tmp_path / "out")
    assert "\n" not in str(refused.value)
    short = replace(job, items=job.items[1:])
    released = share_over_nodes(Consortium(data, tmp_path, VENDORS).sums(short, 0.1), short, tmp_path / "short")
    assert released.complete, "an item outside of the catalogue stops nothing"


def test_files_that_are_no_releases(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "releases"
    with pytest.raises(InputError, match="does not exist"):
        load_complete(path)
    path.write_text("nothing")
    with pytest.raises(InputError, match="not a file of releases"):
        load_complete(path)
    job = job_for(data, VENDORS, 1.0)
    Releases(job).save(path)
    with pytest.raises(InputError, match="still under way"):
        load_complete(path)
