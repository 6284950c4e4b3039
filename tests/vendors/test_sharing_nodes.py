"""Sharing across nodes, one a vendor: the same releases as in process, whoever drops out or is started anew."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from plain_contributions import NOTHING
from sharing_consortium import Consortium, job_for, parts, write_csv

from discreet.aggregation.secure_sum import secure_sum
from discreet.data.synthetic.rating_world import ratings_world
from discreet.edge.vendor.contribution_record import ContributionRecord
from discreet.errors import DiscreetError, InputError
from discreet.nodes import NodeSum
from discreet.privacy.noise import SimulatedNoise
from discreet.vendors.sharing import Sharing
from discreet.vendors.sharing.contributions import Integers
from discreet.vendors.sharing.coordinator import share_over_nodes
from discreet.vendors.sharing.job import ShareJob
from discreet.vendors.sharing.plan import converse
from discreet.vendors.sharing.releases import Releases, load_complete
from discreet.vendors.sharing.sharing_rounds import Answered, Opening, Pairs, Projections, Round, Vendor

VENDORS = 3
STEPS_OF_A_ROUND = 5


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(ratings_world(120, 40, 2400, seed=5), tmp_path_factory.mktemp("vendors") / "films.csv")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ratings for which weak privacy shows directions of taste: five rounds."""
    return write_csv(ratings_world(2500, 60, 75_000, seed=5), tmp_path_factory.mktemp("vendors") / "large.csv")


def in_process(data: Path, job: ShareJob) -> tuple[Answered, ...]:
    assert job.seed is not None
    return Sharing(job.epsilon, job.delta, job.colluders).share(parts(data, len(job.nodes)), job.seed).answers


def assert_same(first: Sequence[Answered], second: Sequence[Answered]) -> None:
    assert [type(a.round) for a in first] == [type(b.round) for b in second]
    for a, b in zip(first, second, strict=True):
        assert a.total.dtype == b.total.dtype == np.int64
        assert np.array_equal(a.total, b.total)


def test_plain_sum_secure_sum_and_nodes_give_the_same_totals(large: Path, tmp_path: Path) -> None:
    job = job_for(large, VENDORS, 20.0)
    plain = in_process(large, job)
    assert [type(a.round) for a in plain] == [Opening, Opening, Pairs, Projections, Projections]

    sources = np.random.SeedSequence(job.seed).spawn(VENDORS)
    vendors = [Vendor(r, job.budget, SimulatedNoise(s)) for r, s in zip(parts(large, VENDORS), sources, strict=True)]

    def secretly(asked: Round) -> Integers:
        return secure_sum([v.answer(asked) for v in vendors], VENDORS, bits=64).values.astype(np.int64)

    assert_same(converse(secretly, job.budget, len(job.items)), plain)

    consortium = Consortium(large, tmp_path / "nodes", VENDORS)
    out = tmp_path / "releases.safetensors"
    released = share_over_nodes(consortium.sums(job), job, out)
    assert_same(released.answers(), plain)
    assert_same(load_complete(out).answers(), plain)
    assert [path.name for path in out.parent.iterdir() if path.is_file()] == [out.name]


def test_what_a_vendor_gave_is_kept_for_its_eyes_only(data: Path, tmp_path: Path) -> None:
    job = job_for(data, VENDORS, 5.0)
    released = share_over_nodes(Consortium(data, tmp_path / "nodes", VENDORS).sums(job), job, tmp_path / "out")
    kept = [ContributionRecord(tmp_path / "nodes" / str(n) / "shared").given(job) for n in job.nodes]
    for number, answered in enumerate(released.answers()):
        assert np.array_equal(sum(given[number].values for given in kept), answered.total)
    for path in (tmp_path / "nodes").glob("*/shared/*.safetensors"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("step", range(STEPS_OF_A_ROUND))
@pytest.mark.parametrize("restarted", [False, True])
def test_a_vendor_that_drops_out_at_any_step_and_comes_back_changes_nothing(
    data: Path, tmp_path: Path, step: int, restarted: bool
) -> None:
    job = job_for(data, VENDORS, 5.0)
    consortium = Consortium(data, tmp_path / "nodes", VENDORS)
    missed = STEPS_OF_A_ROUND + 1 + step  # in the second round, when there is something to remember

    def before(node: int, asked: int) -> bool:
        if node == 2 and asked == missed:
            if restarted:
                consortium.start(2)
            return False
        return True

    consortium.before = before
    released = share_over_nodes(consortium.sums(job), job, tmp_path / "out")
    assert consortium.asked > 2 * STEPS_OF_A_ROUND
    assert_same(released.answers(), in_process(data, job))


def test_a_vendor_that_stays_away_stops_the_sharing_until_it_is_back(data: Path, tmp_path: Path) -> None:
    job, out = job_for(data, VENDORS, 5.0), tmp_path / "out"
    consortium = Consortium(data, tmp_path / "nodes", VENDORS)

    def before(node: int, asked: int) -> bool:
        if asked == STEPS_OF_A_ROUND + 3:
            consortium.away.add(3)
        return True

    consortium.before = before
    with pytest.raises(DiscreetError, match="node 3"):
        share_over_nodes(consortium.sums(job, timeout=0.1), job, out)
    assert not out.exists()
    consortium.before, consortium.away = lambda node, asked: True, set()
    asked = consortium.asked
    released = share_over_nodes(consortium.sums(job), job, out)
    assert_same(released.answers(), in_process(data, job))
    assert consortium.asked == asked + STEPS_OF_A_ROUND


@pytest.mark.parametrize("answered", [0, 1, 2, 3, 4])
def test_a_server_that_is_stopped_goes_on_and_asks_nothing_twice(large: Path, tmp_path: Path, answered: int) -> None:
    job, out = job_for(large, VENDORS, 20.0), tmp_path / "out"
    consortium = Consortium(large, tmp_path / "nodes", VENDORS)

    class Killed(BaseException):
        pass

    def before(node: int, asked: int) -> bool:
        if asked == STEPS_OF_A_ROUND * answered + 5:
            raise Killed
        return True

    consortium.before = before
    with pytest.raises(Killed):
        share_over_nodes(consortium.sums(job), job, out)
    assert not out.exists()
    assert len(Releases.load(out.with_name("out.part")).answers()) == answered
    for number in job.nodes:
        consortium.start(number)
    consortium.before, asked = lambda node, asked: True, consortium.asked
    released = share_over_nodes(consortium.sums(job), job, out)
    assert consortium.asked == asked + STEPS_OF_A_ROUND * (5 - answered)
    assert_same(released.answers(), in_process(large, job))
    again = share_over_nodes(_Nobody(), job, out)
    assert_same(again.answers(), released.answers())


def test_a_question_is_sent_again_as_it_was_first_sent(data: Path, tmp_path: Path) -> None:
    """Not as it is worked out anew: another machine's last bit would make it another question, which vendors refuse."""
    job, out = job_for(data, VENDORS, 5.0), tmp_path / "out"
    consortium = Consortium(data, tmp_path / "nodes", VENDORS)

    def before(node: int, asked: int) -> bool:
        consortium.away = {1} if asked > STEPS_OF_A_ROUND else set()
        return node not in consortium.away

    consortium.before = before
    with pytest.raises(DiscreetError):
        share_over_nodes(consortium.sums(job, timeout=0.05), job, out)
    beside = out.with_name("out.part")
    begun = Releases.load(beside)
    first, second = begun.asked
    task = second.task[:-8] + np.float64(0.125).tobytes()
    replace(begun, asked=(first, second._replace(task=task))).save(beside)
    consortium.before, consortium.away = lambda node, asked: True, set()
    assert share_over_nodes(consortium.sums(job), job, out).asked[1].task == task


def test_a_sharing_that_nobody_has_answered_leaves_nothing_behind(data: Path, tmp_path: Path) -> None:
    job, out = job_for(data, VENDORS, 5.0), tmp_path / "out"
    consortium = Consortium(data, tmp_path / "nodes", VENDORS)
    consortium.away = {1}
    with pytest.raises(DiscreetError, match="node 1"):
        share_over_nodes(consortium.sums(job, timeout=0.05), job, out)
    assert not list(tmp_path.glob("out*"))


def test_secure_noise_is_fresh_for_each_job_and_the_same_for_each_round(data: Path, tmp_path: Path) -> None:
    job = job_for(data, VENDORS, 5.0, seed=None)
    totals = []
    for folder in ("a", "a", "b"):
        consortium = Consortium(data, tmp_path / folder, VENDORS, lambda settings: replace(settings, noise="secure"))
        out = tmp_path / f"out-{len(totals)}"
        totals.append(share_over_nodes(consortium.sums(job), job, out).answers()[0].total)
    assert np.array_equal(totals[0], totals[1])
    assert (totals[0] != totals[2]).any()


def test_a_sum_without_everybody_is_not_taken(data: Path, tmp_path: Path) -> None:
    class Two:
        def sum(self, task: bytes, length: int) -> NodeSum:
            return NodeSum(np.zeros(length, np.int64), (1, 2), NOTHING)

    with pytest.raises(DiscreetError, match="not over all vendors"):
        share_over_nodes(Two(), job_for(data, VENDORS, 5.0), tmp_path / "out")


def test_a_file_of_another_sharing_is_not_gone_on_with(data: Path, tmp_path: Path) -> None:
    job, out = job_for(data, VENDORS, 5.0), tmp_path / "out"
    share_over_nodes(Consortium(data, tmp_path / "nodes", VENDORS).sums(job), job, out)
    content = out.read_bytes()
    with pytest.raises(InputError, match="another sharing"):
        share_over_nodes(_Nobody(), replace(job, name="books"), out)
    assert out.read_bytes() == content


class _Nobody:
    """Sums that must not be asked for."""

    def sum(self, task: bytes, length: int) -> NodeSum:
        raise AssertionError("a question was asked")
