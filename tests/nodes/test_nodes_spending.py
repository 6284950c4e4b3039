"""What a node has spent: budgets of all jobs add up, each once, and survive a restart."""

import math

import pytest

from discreet.edge.node.spending import Spending
from discreet.errors import DiscreetError, InputError
from discreet.privacy.participation_cost import user_guarantee


def cost(epsilon, delta):
    return user_guarantee(epsilon, delta, hidden=False, mechanism="a test")


def test_jobs_add_up_and_each_is_charged_once(tmp_path):
    spending = Spending(tmp_path / "spent", max_epsilon=5.0)
    spending.charge("a", cost(3.0, 1e-6))
    spending.charge("a", cost(3.0, 1e-6))
    Spending(tmp_path / "spent", 5.0).charge("b", cost(2.0, 1e-6))
    with pytest.raises(
        DiscreetError, match=r"ε = 0.5, δ = 1e-06 per user \(zero out\) after 5 for other jobs is more than the ε = 5"
    ):
        spending.charge("c", cost(0.5, 1e-6))
    files = sorted((tmp_path / "spent").iterdir())
    assert [path.name for path in files] == ["a.json", "b.json"]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_what_guarantees_nothing_needs_a_node_that_allows_it(tmp_path):
    with pytest.raises(DiscreetError, match="guarantees nothing"):
        Spending(tmp_path, 10.0).charge("a", cost(math.inf, 0.0))
    Spending(tmp_path, math.inf).charge("a", cost(math.inf, 0.0))
    with pytest.raises(DiscreetError, match="after inf for other jobs"):
        Spending(tmp_path, 10.0).charge("b", cost(1.0, 1e-6))


def test_delta_adds_up_too(tmp_path):
    spending = Spending(tmp_path, 10.0)
    spending.charge("a", cost(1.0, 9e-5))
    with pytest.raises(DiscreetError, match=r"δ = 2e-05 per user \(zero out\)"):
        spending.charge("b", cost(1.0, 2e-5))


@pytest.mark.parametrize("text", ["", "{}", '{"epsilon": "much", "delta": 0}', '{"epsilon": -1, "delta": 0}', "[1]"])
def test_without_its_records_nothing_is_spent(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match="a job has cost"):
        Spending(tmp_path, 10.0).charge("b", cost(1.0, 1e-6))
