"""What a vendor's node refuses, in one clear line, and that nothing is spent then."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sharing_consortium import Consortium, Settings, job_for, with_limit, write_csv

from discreet.data.open import open_ratings
from discreet.data.synthetic.ratings import ratings_world
from discreet.errors import DiscreetError, InputError
from discreet.federated.nodes import Assignment, Contribute, SecureSums
from discreet.vendors.sharing.across import share_across
from discreet.vendors.sharing.book import Book
from discreet.vendors.sharing.catalogue import on_catalogue, vendor_ratings
from discreet.vendors.sharing.job import ShareJob
from discreet.vendors.sharing.node_job import open_job
from discreet.vendors.sharing.releases import Releases, load_complete
from discreet.vendors.sharing.rounds import Opening, Round
from discreet.vendors.sharing.tasks import Task

VENDORS = 3


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(ratings_world(90, 40, 1500, seed=6), tmp_path_factory.mktemp("vendors") / "films.csv")


@pytest.fixture
def settings(data: Path, tmp_path: Path) -> Settings:
    return Settings(1, tmp_path / "node", data, "1/3", most_epsilon=8.0)


def whole(asked: Round, number: int = 0) -> Assignment:
    return Assignment(Task(number, asked).to_bytes(), VENDORS, VENDORS)


def even(job: ShareJob, share: float) -> Opening:
    return Opening(share, np.ones(len(job.items)))


def opened(settings: Settings, job: ShareJob) -> Contribute:
    return open_job(settings, job.to_bytes())


def test_a_job_with_more_epsilon_than_the_vendor_allows(settings: Settings, data: Path) -> None:
    with pytest.raises(DiscreetError, match=r"ε = 8\.5 would come to 8\.5 in all, and this vendor allows 8 for life"):
        opened(settings, job_for(data, VENDORS, 8.5))
    opened(settings, job_for(data, VENDORS, 8.0))


def test_jobs_add_up_for_life(settings: Settings, data: Path) -> None:
    first, second, third = (job_for(data, VENDORS, 4.0, name=name) for name in ("2026", "2027", "2028"))
    for job in (first, second):
        opened(settings, job)(whole(even(job, 0.1)))
    with pytest.raises(DiscreetError, match="after 2 other jobs would come to 12 in all"):
        opened(settings, third)
    opened(settings, first)(whole(even(first, 0.2), 1))  # one that was paid for goes on
    opened(replace(settings, folder=settings.folder / "another"), third)


def test_two_jobs_opened_side_by_side_do_not_both_spend_what_is_left(settings: Settings, data: Path) -> None:
    jobs = [job_for(data, VENDORS, 5.0, name=name) for name in ("a", "b")]
    contribute = [opened(settings, job) for job in jobs]
    contribute[0](whole(even(jobs[0], 0.1)))
    with pytest.raises(DiscreetError, match="would come to 10"):
        contribute[1](whole(even(jobs[1], 0.1)))
    assert Book(settings.folder / "shared", 8.0).given(jobs[1]) == []


def test_a_job_that_was_only_opened_costs_nothing(settings: Settings, data: Path) -> None:
    for number in range(5):
        opened(settings, job_for(data, VENDORS, 6.0, name=str(number)))
    assert not list(settings.folder.glob("shared/*.safetensors"))


def test_too_large_a_delta(settings: Settings, data: Path) -> None:
    with pytest.raises(DiscreetError, match=r"δ = 0\.01"):
        opened(settings, replace(job_for(data, VENDORS, 1.0), delta=0.01))


def test_a_damaged_book_stops_everything(settings: Settings, data: Path) -> None:
    job = job_for(data, VENDORS, 1.0)
    opened(settings, job)(whole(even(job, 0.1)))
    (path,) = settings.folder.glob("shared/*.safetensors")
    path.write_bytes(path.read_bytes()[:40])
    for name in ("films", "books"):
        with pytest.raises(InputError, match="nobody knows what was shared"):
            opened(settings, replace(job, name=name))(whole(even(job, 0.1)))


def test_a_job_for_others(settings: Settings, data: Path) -> None:
    with pytest.raises(DiscreetError, match="not one of the job's vendors"):
        opened(replace(settings, number=9), job_for(data, VENDORS, 1.0))
    with pytest.raises(DiscreetError, match="not one of vendors' sharing"):
        open_job(settings, b'{"kind":"train"}\n')
    with pytest.raises(DiscreetError, match="no seed"):
        opened(settings, job_for(data, VENDORS, 1.0, seed=None))


def test_another_catalogue_and_another_scale(settings: Settings, data: Path) -> None:
    job = job_for(data, VENDORS, 1.0)
    with pytest.raises(DiscreetError, match="items that are not in the job's catalogue"):
        opened(settings, replace(job, items=job.items[1:]))
    for scale in ((1.0, 4.0), (2.0, 5.0), (0.0, 10.0)):
        with pytest.raises(DiscreetError, match="not on the job's scale"):
            opened(settings, replace(job, scale=scale))


def test_the_catalogue_numbers_the_items(data: Path, tmp_path: Path) -> None:
    """A vendor's own file with fewer items, in another order."""
    ratings = open_ratings(data)
    ids = (*sorted(ratings.items.ids, reverse=True), "nobody rated this")
    job = replace(job_for(data, VENDORS, 1.0), items=ids)
    lines = [f"u,{item},{value}" for item, value in zip(ratings.items.ids[:4], (1, 5, 2, 4), strict=True)]
    (tmp_path / "own.csv").write_text("\n".join(["user,item,rating", *lines]))
    own = on_catalogue(vendor_ratings(tmp_path / "own.csv", None), job)
    assert [ids[item] for item in own.item] == list(ratings.items.ids[:4])
    assert own.value.tolist() == [1, 5, 2, 4]
    assert tuple(own.items.ids) == ids
    assert own.scale == job.scale
    assert len(own.items.genres) == len(own.items.titles) == len(own.items.years) == len(ids)
    counts = even(job, 1.0).contribution(own)[len(ids) :]
    assert {ids[item] for item in np.flatnonzero(counts)} == set(ratings.items.ids[:4])


@pytest.mark.parametrize(("parties", "quorum"), [(3, 2), (2, 2), (4, 4), (4, 3)])
def test_a_sum_in_which_a_vendor_may_be_missing(settings: Settings, data: Path, parties: int, quorum: int) -> None:
    job = job_for(data, VENDORS, 1.0)
    with pytest.raises(DiscreetError, match="all 3 vendors must be in it"):
        opened(settings, job)(Assignment(Task(0, even(job, 0.1)).to_bytes(), parties, quorum))
    assert not settings.folder.exists()


def test_the_usual_secure_sum_which_can_do_without_some_is_refused_over_the_wire(data: Path, tmp_path: Path) -> None:
    consortium, job = Consortium(data, tmp_path, 4), job_for(data, 4, 1.0)
    usual = SecureSums(consortium, consortium.roster, job.to_bytes(), patience=0.1)
    with pytest.raises(DiscreetError, match="all 4 vendors must be in it"):
        share_across(usual, job, tmp_path / "out")


def test_another_question_in_the_place_of_one_that_was_answered(settings: Settings, data: Path) -> None:
    job = job_for(data, VENDORS, 5.0)
    first, again = opened(settings, job), opened(settings, job)
    answer = first(whole(even(job, 0.3)))
    assert np.array_equal(again(whole(even(job, 0.3))), answer)
    for wrong in (even(job, 0.2), Opening(0.3, np.full(len(job.items), 1.0 + 2**-52))):
        with pytest.raises(DiscreetError, match="another question"):
            again(whole(wrong))
    with pytest.raises(DiscreetError, match="round 3 comes after round 1"):
        again(whole(even(job, 0.1), 2))


def test_more_rounds_than_the_budget_has_shares_for_whoever_is_restarted(settings: Settings, data: Path) -> None:
    job = job_for(data, VENDORS, 5.0)
    opened(settings, job)(whole(even(job, 0.7)))
    with pytest.raises(DiscreetError, match=r"too much after 0\.7"):
        opened(settings, job)(whole(even(job, 0.4), 1))
    opened(settings, job)(whole(even(job, 0.3), 1))
    assert len(Book(settings.folder / "shared", 8.0).given(job)) == 2


def test_nothing_is_given_that_could_not_be_written_down(settings: Settings, data: Path) -> None:
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
    with pytest.raises(DiscreetError, match=r"this vendor allows 0\.5 for life") as refused:
        share_across(consortium.sums(job, 0.1), job, tmp_path / "out")
    assert "\n" not in str(refused.value)
    short = replace(job, items=job.items[1:])
    with pytest.raises(DiscreetError, match="not in the job's catalogue"):
        share_across(Consortium(data, tmp_path, VENDORS).sums(short, 0.1), short, tmp_path / "short")


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
