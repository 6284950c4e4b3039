"""All rows of a vendors' comparison have one model, however a method is given: by name, ready made, in a command."""

import json

import pytest
from sharing_consortium import write_csv

import discreet as d
from discreet.cli import run
from discreet.data.synthetic.rating_world import ratings_world
from discreet.experiments.rating_table import markdown_table
from discreet.experiments.report import html_report
from discreet.privacy.guarantee import Unit
from discreet.vendors.gibbs import gibbs_mf
from discreet.vendors.methods.baselines import DPAverages
from discreet.vendors.partition import Distribution

SMALL = d.GibbsMF(rank=2, iterations=5, burn_in=1)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write_csv(ratings_world(60, 25, 600, seed=5), tmp_path_factory.mktemp("one-model") / "films.csv")


def figures(told):
    """What was measured, without what differs in how it was asked for."""
    return [(row["method"], row["epsilon"], row["settings"], row["rmse"], row["gain"]) for row in told["methods"]]


def by_command(file, out, capsys, *more):
    arguments = ["vendors", "compare", str(file), "--vendors", "3", "--epsilon", "5", "--out", str(out), "--json"]
    assert run([*arguments, *more]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("methods", [["full", "sharing"], ["full", d.Sharing(5.0)], [d.Full(), d.Sharing(5.0)]])
def test_python_and_the_command_line_measure_the_same(methods, file, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(gibbs_mf, "_ITERATIONS", ((10**9, 7),))
    found = d.compare_vendors(d.open_ratings(file), vendors=3, methods=methods, epsilons=[5.0])
    told = by_command(file, tmp_path / "out", capsys, "--methods", "full,sharing")
    assert figures(json.loads(json.dumps(found.to_json()))) == figures(told)
    assert (told["settings"]["rank"], told["settings"]["iterations"]) == (12, 7), "by the number of ratings"


@pytest.mark.parametrize("methods", [["full", d.Sharing(5.0, model=SMALL)], [d.Local(SMALL), "full", d.Sharing(5.0)]])
def test_the_model_of_one_method_is_that_of_all(methods, file, tmp_path, capsys):
    found = d.compare_vendors(d.open_ratings(file), vendors=3, methods=methods)
    assert all(repr(SMALL) in row["settings"] for row in found.to_json()["methods"])
    told = by_command(file, tmp_path / "out", capsys, "--methods", "full,sharing", "--rank", "2", "--iterations", "5")
    assert figures(json.loads(json.dumps(found.to_json()))) == figures(told)
    words = "2 factors, 5 iterations"
    assert words in found.legend()
    for shown in (markdown_table(found), html_report(found, found.plots()), "\n".join(found.footnotes())):
        assert words in shown


@pytest.mark.parametrize(
    "methods",
    [
        [d.Local(SMALL), d.Sharing(5.0, model=d.GibbsMF())],
        [d.Sharing(5.0, model=SMALL), d.Sharing(5.0, model=d.GibbsMF())],
    ],
)
def test_two_models_in_one_comparison_are_refused(methods, file):
    with pytest.raises(d.DiscreetError, match="2 factors, 5 iterations; sharing: 24 factors"):
        d.compare_vendors(d.open_ratings(file), vendors=3, methods=methods)


def test_a_budget_is_needed_for_a_name(file):
    with pytest.raises(d.DiscreetError, match="sharing needs a privacy budget"):
        d.compare_vendors(d.open_ratings(file), vendors=3, methods=["sharing"])


def test_what_a_name_may_not_do_a_ready_method_may_not(file):
    """Privacy of users is refused where vendors share users, and `full` knows such a user everywhere."""
    ratings = d.open_ratings(file)
    ready = [d.Local(SMALL), d.Full(), d.DPALS(epsilon=5.0), d.Sharing(5.0), DPAverages(5.0, unit=Unit.USER)]
    found = d.compare_vendors(ratings, vendors=2, methods=ready, distribution=Distribution.VERTICAL)
    assert [result.method for result in found.results] == ["local", "full"]
    assert [each.method for each in found.refused] == ["dpals", "sharing", "dp_averages"]
    named = d.compare_vendors(ratings, vendors=2, methods=[d.Local(SMALL), "full"], distribution=Distribution.VERTICAL)
    assert figures(found.to_json())[:2] == figures(named.to_json())
