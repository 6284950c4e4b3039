"""DP-FedAvg: what a reader can change at most, how much noise there is, and what is promised for it."""

import dataclasses
import math

import numpy as np
import pytest

from discreet.audits.dp_fedavg import whole_course_audit, worst_client_audit
from discreet.data.synthetic import news_world
from discreet.errors import DiscreetError
from discreet.methods.dp_fedavg import UNIT, DPFedAvg, Participation
from discreet.methods.method import TrainingTask
from discreet.privacy.guarantee import Adjacency, Adversary, Scope, Status, Unit
from discreet.privacy.mechanisms.gaussian import analytic_multiplier
from discreet.privacy.participation_cost import epsilon_hidden, epsilon_seen, joining
from discreet.training.clients import Clients
from discreet.training.participation_book import BookFile
from discreet.training.parties import Parties
from discreet.training.randomness import SamplingPlan, SecretRandomness


@pytest.fixture(scope="module")
def task():
    return TrainingTask(news_world(80, seed=9), "hashed")


def without(setup, task, reader):
    """The same node without one of its readers."""
    train = task.data.splits["train"]
    rest = Clients.from_impressions(train.select(train.reader != reader), setup.network.model.history_length)
    return dataclasses.replace(setup, clients=rest)


@pytest.mark.parametrize(("clip", "steps"), [(0.05, 1), (0.05, 3), (1.0, 1)])
def test_one_reader_moves_the_sum_by_at_most_the_clip(task, clip, steps, tmp_path):
    method = DPFedAvg(clip=clip, local_steps=steps, rounds=30, epsilon=math.inf)
    setup = method.setup(task, 1, randomness=SecretRandomness(BookFile(tmp_path / "all", "all")))
    parameters = setup.start
    whole = method.contribution(setup, parameters, 2, Parties(4, 3))
    moved = []
    for reader in setup.clients.reader[:6].tolist():
        rest = dataclasses.replace(
            without(setup, task, reader), randomness=SecretRandomness(BookFile(tmp_path / str(reader), "rest"))
        )
        difference = whole - method.contribution(rest, parameters, 2, Parties(4, 3))
        assert difference[-1] == 0  # how many readers there are is public
        moved.append(math.isqrt(sum(int(value) ** 2 for value in difference[:-1])))
    assert max(moved) <= UNIT
    assert max(moved) > (0.99 if clip < 0.1 else 0.01) * UNIT


@pytest.mark.parametrize("epsilon", [3.0, 16.0])
@pytest.mark.parametrize(("rounds", "fraction"), [(1500, 0.02), (100, 0.02), (4, 1.0)])
def test_noise_for_a_server_that_sees_nothing_has_a_price_against_one_that_sees(epsilon, rounds, fraction):
    method = DPFedAvg(epsilon=epsilon, participation=Participation.HIDDEN, rounds=rounds, fraction=fraction)
    here, other = method.guarantee({}), method.other_guarantee({})
    assert here.epsilon <= epsilon
    assert epsilon * 0.99 <= other.epsilon < math.inf
    assert (here.adversary, other.adversary) == (Adversary.BLIND_SERVER, Adversary.SERVER)


@pytest.mark.parametrize("participation", list(Participation))
def test_what_the_lattice_cannot_promise_is_refused_before_any_training(participation):
    for epsilon, delta in [(1.0, 1e-12), (10.0, 1e-8), (16.0, 1e-6)]:
        method = DPFedAvg(epsilon=epsilon, delta=delta, participation=participation, rounds=20, fraction=0.1)
        assert method.guarantee({}).epsilon <= epsilon
    for epsilon, delta in [(5.0, 1e-12), (10.0, 1e-9), (16.0, 1e-7)]:
        with pytest.raises(DiscreetError, match="delta"):
            DPFedAvg(epsilon=epsilon, delta=delta, participation=participation, rounds=20, fraction=0.1)


def test_parties_add_just_the_noise_that_is_promised(task):
    method = DPFedAvg(epsilon=2.0, rounds=4, fraction=1.0)
    setup = method.setup(task, 1)
    parameters = setup.start
    silent = dataclasses.replace(method, epsilon=math.inf)
    for parties, parts in ((Parties(4, 3), 3 - 1), (Parties(40, 27), 27 - 4), (Parties(40, 27, 100), 27 - 10)):
        noise = method.contribution(setup, parameters, 1, parties) - silent.contribution(setup, parameters, 1, parties)
        expected = method.multiplier * UNIT / math.sqrt(parts)
        assert noise[:-1].std() == pytest.approx(expected, rel=0.03)
        assert noise[-1] == 0
    alone = method.contribution(setup, parameters, 1) - silent.contribution(setup, parameters, 1)
    readers = setup.readers
    hidden = readers - readers // 5 - readers // 10
    assert alone[:-1].std() == pytest.approx(method.multiplier * UNIT * math.sqrt(readers / hidden), rel=0.03)


def test_the_mean_is_over_the_expected_number_whoever_joined(task):
    method = DPFedAvg(epsilon=math.inf, fraction=0.5, rounds=4, clip=0.3)
    setup = method.setup(task, 1)
    parameters = setup.start
    joining = setup.randomness.joining(setup.clients.reader, 1, method.sampling_plan)
    rows = np.concatenate(list(method.updates(setup, parameters, 1, joining)))
    scale = np.minimum(1, 0.3 / np.linalg.norm(rows, axis=1))[:, None]
    expected = (rows * scale).sum(axis=0) / (0.5 * setup.readers)
    direction = method.result(parameters, method.contribution(setup, parameters, 1)).direction
    found = np.concatenate([value.double().numpy().ravel() for value in direction.values()])
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_the_guarantee_is_the_readers_for_life_against_both_kinds_of_server(task):
    method = DPFedAvg(epsilon=3.0, delta=1e-6, rounds=40, fraction=0.1)
    assert method.sampling_plan == SamplingPlan(0.1, 5, 40)
    assert method.multiplier == pytest.approx(analytic_multiplier(3.0, 1e-6) * math.sqrt(5), rel=1e-3)
    seen, hidden = method.guarantee({}), method.other_guarantee({})
    assert (seen.unit, seen.adjacency, seen.scope, seen.status) == (
        Unit.USER,
        Adjacency.ZERO_OUT,
        Scope.LIFETIME,
        Status.PROVED,
    )
    assert (seen.adversary, hidden.adversary) == (Adversary.SERVER, Adversary.BLIND_SERVER)
    assert seen.epsilon == pytest.approx(epsilon_seen(method.multiplier, 1e-6, 5), rel=1e-6)
    assert seen.epsilon <= 3.0
    assert hidden.epsilon == pytest.approx(epsilon_hidden(method.multiplier, 1e-6, 0.1, 40, 5), rel=1e-6)
    assert hidden.epsilon < seen.epsilon

    cheaper = dataclasses.replace(method, participation="hidden")
    assert cheaper.participation is Participation.HIDDEN
    assert cheaper.multiplier < method.multiplier
    assert cheaper.guarantee({}).adversary is Adversary.BLIND_SERVER
    assert cheaper.guarantee({}).epsilon <= 3.0 < cheaper.other_guarantee({}).epsilon


def test_all_in_every_round_leaves_nothing_to_hide():
    method = DPFedAvg(epsilon=3.0, rounds=10)
    assert method.sampling_plan.max_rounds_joined == 10
    assert method.guarantee({}).epsilon == pytest.approx(method.other_guarantee({}).epsilon, rel=1e-6)


def test_what_protects_nobody_says_so(task):
    assert DPFedAvg(epsilon=math.inf).guarantee({}).epsilon == math.inf
    assert DPFedAvg(history_clicks=3).guarantee({}).epsilon == math.inf
    method = DPFedAvg(rounds=2, fraction=0.5)
    state = method.train(task, 1)
    assert "(simulated)" in str(method.guarantee(state))
    assert "(simulated)" not in str(method.guarantee({}))


@pytest.mark.parametrize(
    "wrong",
    [
        {"clip": 0.0},
        {"participations": -1},
        {"participations": 2, "rounds": 4},
        {"participation": "guessed"},
        {"local_steps": 0},
        {"delta": 0.5},
        {"epsilon": 17.0},
        {"epsilon": 0.0},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(DiscreetError, match="dp_fedavg"):
        DPFedAvg(**wrong)


def test_without_noise_it_learns(task):
    method = DPFedAvg(epsilon=math.inf, rounds=25)
    setup = method.setup(task, 3)
    start, learnt = setup.start, method.train(task, 3)

    def loss(parameters):
        samples = setup.clients.draw(np.arange(len(setup.clients)), 99, 1)
        from discreet.training.simulator import summed_gradient

        return summed_gradient(setup.network, setup.table, parameters, samples, samples.counts).losses.sum()

    from discreet.methods.learnt import trained_parameters

    assert loss(trained_parameters(learnt)) < 0.97 * loss(start)


@pytest.mark.parametrize(("quorum", "holds"), [(3, True), (20, False)])
def test_the_audit_tells_enough_noise_from_too_little(quorum, holds):
    audit = worst_client_audit(10.0, 1, 1_000, quorum)
    bound = audit.examination.lower_bound(1e-3, 0)
    assert audit.holds(bound) is holds
    assert bound > audit.claim / 2


@pytest.mark.parametrize("capped", [True, False])
def test_the_audit_of_all_rounds_tells_whether_the_cap_is_kept(capped, monkeypatch):
    """It looks at the coin and the cap that nodes use: without the cap it finds more than was promised."""
    if not capped:
        uncapped = lambda noise, rate, joined, _: joining(noise, rate, joined, 10**6)  # noqa: E731
        monkeypatch.setattr("discreet.training.randomness.joining", uncapped)
    audit = whole_course_audit(10.0, 5, 0.75, 1, 400)
    bound = audit.examination.lower_bound(1e-3, 0)
    assert audit.holds(bound) is capped
    assert bound > audit.claim / 2
