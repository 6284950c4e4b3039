"""The registered audits, and the command that runs them."""

import json
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import discreet.audits.mechanisms  # noqa: F401 - registers
from discreet.audits import Audit, Measure, register, registered, run, selected
from discreet.audits.audit_registry import AUDITS
from discreet.audits.audit_run import FAMILY_ERROR
from discreet.audits.claims import between, exactly
from discreet.cli import run as command
from discreet.privacy.guarantee import Status
from discreet.privacy.mechanisms.discrete import DiscreteLaplace
from discreet.privacy.mechanisms.mechanism_registry import MECHANISMS
from discreet.privacy.mechanisms.randomized_response import RandomizedResponse
from discreet.privacy.release import LatticePayload


@dataclass(frozen=True, kw_only=True)
class HalfTheNoise(DiscreteLaplace):
    """Says it is ε-DP, and is 2ε-DP."""

    name = "half the noise"

    @property
    def scale(self) -> Fraction:
        return super().scale / 2


@dataclass(frozen=True, kw_only=True)
class TooHonest(RandomizedResponse):
    """Tells the truth a little more often than it says."""

    name = "too honest"

    def sample(self, value, noise):
        return super().sample(value, noise) if noise.below(8) else LatticePayload(np.array([value]))


def found(name: str):
    (audit,) = selected([name])
    (finding,) = run([audit], seed=1)
    return finding


@pytest.fixture
def own_registry(monkeypatch):
    monkeypatch.setattr(AUDITS, "_own", {audit.name: audit for audit in registered()})


def test_every_mechanism_is_audited():
    assert {audit.mechanism for audit in registered()} >= set(MECHANISMS)


def test_every_published_variant_has_a_corrected_one_beside_it():
    names = {audit.name for audit in registered()}
    for mechanism in ("clipped attention", "clipped mean"):
        published = {name for name in names if name.startswith(mechanism) and "as published" in name}
        assert published
        assert {name.replace("as published", "corrected") for name in published} <= names


def test_every_audit_can_be_sent_to_another_process():
    from discreet.audits.audit_run import _travels

    assert [audit.name for audit in registered() if not _travels(audit)] == []


@pytest.mark.slow
def test_papers_claims_are_refuted_and_everything_proved_holds():
    findings = run(registered(), seed=1)
    assert [f.audit.name for f in findings if f.is_failure] == []
    assert [f.audit.name for f in findings if f.audit.status is Status.CLAIMED and f.holds] == []


PUBLISHED = [
    ("B=3 p=0.2 θ=1 ε=1", 1.81),
    ("B=3 p=0.2 θ=1 ε=3", 5.06),
    ("B=5 p=0.5 θ=1 ε=1", 1.89),
]


@pytest.mark.parametrize(("setting", "expected"), PUBLISHED)
def test_attention_as_published_is_refuted_and_corrected_holds(setting, expected):
    """At least the lower bounds first found, with other seeds."""
    published = found(f"clipped attention ({setting}, as published)")
    assert published.verdict == "refuted"
    assert published.lower_bound > 0.95 * expected
    assert found(f"clipped attention ({setting}, corrected)").verdict == "holds"


def test_classical_gaussian_is_refuted_above_epsilon_one():
    published = found("clipped attention (Gaussian B=3 ε=10 δ=1e-5, as published)")
    assert published.audit.examination.measure is Measure.MU
    assert published.audit.claim == pytest.approx(2.000, abs=1e-3)
    assert 2.8 < published.lower_bound <= 2.92
    corrected = found("clipped attention (Gaussian B=3 ε=10 δ=1e-5, corrected)")
    assert corrected.holds
    assert corrected.lower_bound > 1.7


def test_label_permutation_leaks_everything():
    for epsilon in (1, 3, 10):
        assert found(f"label permutation (C=5 k=2 ε={epsilon}, as published, exact)").lower_bound == math.inf
    assert found("label permutation (C=37 k=4 ε=1, as published)").lower_bound > 6


def test_float_noise_leaks_and_whole_gradients_cost_far_more_than_a_coordinate():
    leak = found("float noise (Laplace ε=1, impossible outputs)")
    assert 0.75 < leak.lower_bound < 0.85
    assert not leak.holds
    gradient = found("float noise (FedNewsRec gradient d=1000 δ=0.005 λ=0.015, as published)")
    assert gradient.audit.claim == pytest.approx(2 / 3)
    assert gradient.lower_bound > 5


@pytest.mark.parametrize("epsilon", [1, 3, 10])
def test_randomised_response_is_exactly_as_private_as_it_says(epsilon):
    finding = found(f"randomized response (C=6 ε={epsilon}, exact)")
    assert finding.holds
    assert finding.lower_bound == pytest.approx(epsilon, abs=1e-11)


def test_half_the_noise_is_caught():
    right = DiscreteLaplace(epsilon=1.0, l1=1.0)
    wrong = HalfTheNoise(epsilon=1.0, l1=1.0)
    audits = [between(m, [0.0], [1.0], "", runs=40_000) for m in (right, wrong)]
    assert [f.verdict for f in run(audits)] == ["holds", "refuted"]


def test_a_small_excess_is_caught_exactly():
    audit = exactly(TooHonest(epsilon=3.0, choices=4), range(4), "C=4")
    (finding,) = run([audit])
    assert finding.is_failure
    assert 3.1 < finding.lower_bound < 3.5


# --- the command


@pytest.mark.long
def test_command_prints_the_contract(capsys):
    exponential = next(audit.name for audit in registered() if audit.mechanism == "exponential")
    assert command(["audit", exponential, "float noise (Laplace ε=1, impossible outputs)", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["family_wise_error"] == FAMILY_ERROR
    by_name = {row["mechanism"]: row for row in told["mechanisms"]}
    assert {name.split(" (")[0] for name in by_name} == {"exponential", "float noise"}
    for row in by_name.values():
        assert row.keys() >= {"mechanism", "status", "claim", "lower_bound", "verdict"}
        assert row["status"] in ("proved", "claimed")
        assert row["verdict"] == ("holds" if row["status"] == "proved" else "refuted")


def test_command_fails_if_something_proved_is_refuted(own_registry, capsys):
    register(between(HalfTheNoise(epsilon=1.0, l1=1.0), [0.0], [1.0], "", runs=40_000))
    assert command(["audit", "half the noise"]) == 1
    printed = capsys.readouterr().out
    assert "refuted" in printed
    assert "Called proved, and refuted: half the noise" in printed
    assert "at most 0.001" in printed


def test_command_does_not_fail_if_only_a_paper_is_refuted(own_registry, capsys):
    broken = between(HalfTheNoise(epsilon=1.0, l1=1.0), [0.0], [1.0], "", runs=40_000)
    register(Audit("a paper's", "", Status.CLAIMED, broken.claim, broken.examination))
    assert command(["audit", "a paper's", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mechanisms"][0]["verdict"] == "refuted"


def test_command_draws(tmp_path, capsys):
    path = tmp_path / "audit.svg"
    assert command(["audit", "float noise (Laplace ε=1, impossible outputs)", "--plot", str(path)]) == 0
    assert path.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [(["no such thing"], "there is no audit of 'no such thing'"), (["exponential", "--plot", "a.txt"], "a.txt")],
)
def test_command_explains_mistakes_in_one_line(arguments, problem, capsys):
    assert command(["audit", *arguments]) == 2
    printed = capsys.readouterr()
    assert problem in printed.err
    assert len(printed.err.strip().splitlines()) == 1
    assert printed.out == ""
