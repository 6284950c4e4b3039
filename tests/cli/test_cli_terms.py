"""`discreet aggregate terms`: what a publisher's task says is what the simulator takes."""

import json

from discreet.aggregation.task import Task
from discreet.cli import run
from discreet.methods.front_page.daily_budget import DailyBudget
from discreet.methods.front_page.windows import noise_scale
from discreet.privacy.guarantee import shown_epsilon


def test_the_terms_of_popularity_have_the_noise_of_a_life(tmp_path, capsys):
    """The task is that of the simulator, and what is printed says what a day costs, and so many days."""
    out, flags = tmp_path / "p.json", ["--leader", "https://n.example/dap", "--helper", "https://h.example"]
    terms = ["aggregate", "terms", "popularity", "--epsilon", "1", *flags, "--out", str(out)]
    for days, noise in ((0, "discrete_laplace"), (6, "discrete_laplace"), (30, "discrete_gaussian")):
        assert run([*terms, "--max-days", str(days)]) == 0
        task, said = Task.from_json(json.loads(out.read_text())), capsys.readouterr().out
        price = DailyBudget(1.0, 1e-6, days, head=0.0, weights=0.0).popularity_price(1)
        assert (task.epsilon, task.delta, task.noise) == (price.epsilon, price.delta, noise)
        assert float(task.noise_scale) == noise_scale(price)
        assert f"ε = {shown_epsilon(price.epsilon)}" in said
        against = "per user (zero out) against the publisher and one aggregator, lifetime [proved"
        assert (f"{days} days of a reader together: ε = 1, δ = 1e-06 {against}" in said) == (days > 0)
    assert run([*terms, "--max-days", "30", "--delta", "1e-9"]) == 0
    assert json.loads(out.read_text())["delta"] == 1e-9
    assert run(["aggregate", "terms", "weights", "--epsilon", "1", *flags, "--max-days", "30", "--out", str(out)]) == 2
    assert "--max-days is for popularity" in capsys.readouterr().err
