import io
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from discreet.data.news import Impressions
from discreet.errors import DiscreetError
from discreet.evaluation.metrics import METRICS, ranking_metrics
from discreet.experiments.ranking_plots import auc_plot_svg, epsilon_plot_svg
from discreet.experiments.ranking_results import Comparison, MethodResult
from discreet.experiments.ranking_table import in_words, markdown_table, rich_table, rows
from discreet.experiments.report import html_report, save_report
from discreet.privacy.guarantee import Adjacency, Adversary, Guarantee, Scope, Status, Unit


def world(seed=0, impressions=400, slate=12):
    rng = np.random.default_rng(seed)
    clicked = rng.permuted(np.tile(np.arange(slate) < 2, (impressions, 1)), axis=1).ravel()
    empty = np.zeros(impressions, dtype=np.int64)
    return Impressions(
        reader=np.sort(rng.integers(0, 150, impressions)).astype(np.int32),
        time=np.arange(impressions),
        slate=np.arange(impressions + 1) * slate,
        shown=np.zeros(impressions * slate, dtype=np.int32),
        clicked=clicked,
        timeline=np.zeros(0, dtype=np.int32),
        history_start=empty,
        history_stop=empty,
    )


IMPRESSIONS = world()


def runs(signal, seeds=1, start=0):
    return [
        ranking_metrics(
            signal * IMPRESSIONS.clicked + np.random.default_rng(start + s).normal(size=len(IMPRESSIONS.shown)),
            IMPRESSIONS,
        )
        for s in range(seeds)
    ]


def guarantee(epsilon, claimed=None, scope=Scope.LIFETIME, delta=1e-6):
    status = Status.PROVED if claimed is None else Status.CLAIMED
    return Guarantee(
        epsilon, delta, Unit.CLICK, Adjacency.SUBSTITUTE, Adversary.SERVER, scope, status, "sketch", 2, claimed
    )


@pytest.fixture(scope="module")
def comparison():
    return Comparison(
        "news <world>",
        "dev",
        [
            MethodResult("random", None, None, runs(0.0, start=10), None, baseline=True),
            MethodResult("content", None, None, runs(0.5, start=20), None, baseline=True),
            MethodResult("reports", "nrms", 4.0, runs(2.0, 2, start=30), guarantee(4.0)),
            MethodResult("reports", "nrms", math.inf, runs(3.0, 2, start=40), guarantee(math.inf)),
            MethodResult("published", "nrms", 1.0, runs(0.1, start=50), guarantee(60.0, claimed=1.0)),
            MethodResult("published", "nrms", 2.0, runs(0.2, start=60), guarantee(math.inf, claimed=2.0)),
        ],
    )


def test_random_scores_have_auc_one_half_within_their_error():
    auc = MethodResult("random", None, None, runs(0.0, seeds=3, start=70), None).estimate("auc")
    assert 0.001 < auc.se < 0.02
    assert abs(auc.mean - 0.5) < 4 * auc.se


def test_json_has_the_fields_of_the_contract(comparison):
    plain = json.loads(json.dumps(comparison.to_json(), allow_nan=False))
    whole = ["dataset", "split", "impressions", "left_out", "seeds", "text", "versions", "reference", "methods"]
    assert list(plain) == whole
    assert {"discreet", "code", "numpy", "torch"} <= set(plain["versions"])
    fields = ["method", "model", "epsilon", "settings", "seeds", "reused"]
    fields += [*METRICS, "remark", "guarantee", "difference"]
    assert [list(method) for method in plain["methods"]] == [fields] * 6
    assert plain["reference"] == "content"
    assert plain["methods"][1]["difference"] is None
    against = comparison.results[2].minus(comparison.results[1], "mrr")
    assert plain["methods"][2]["difference"]["mrr"] == {"mean": against.mean, "se": against.se}
    content, private, unlimited = plain["methods"][1], plain["methods"][2], plain["methods"][3]
    assert (content["model"], content["epsilon"], content["guarantee"]) == (None, None, None)
    assert (private["epsilon"], private["seeds"]) == (4.0, 2)
    assert set(private["auc"]) == {"mean", "se"}
    assert Guarantee.from_json(private["guarantee"]) == guarantee(4.0)
    assert (unlimited["epsilon"], unlimited["guarantee"]["epsilon"]) == ("inf", "inf")


def test_differences_are_taken_against_the_best_baseline(comparison):
    assert comparison.reference.method == "content"
    differences = [row.difference for row in rows(comparison)]
    assert differences[1] == "–"
    assert differences[0].startswith("-")
    assert differences[0].endswith("▼")
    assert differences[2].startswith("+")
    assert differences[2].endswith("▲")


def test_differences_are_taken_against_a_method_that_is_named(comparison):
    against = comparison.against("reports")
    assert (against.reference.method, against.reference.epsilon) == ("reports", math.inf)
    assert [row.difference[0] for row in rows(against)] == ["-", "-", "-", "–", "-", "-"]
    assert against.to_json()["reference"] == against.reference.label
    with pytest.raises(DiscreetError, match="no other to compare with; there are content"):
        comparison.against("other")


def test_a_difference_within_two_standard_errors_has_no_mark():
    twin = Comparison(
        "d",
        "dev",
        [
            MethodResult("base", None, None, runs(0.5, start=1), None, baseline=True),
            MethodResult("same", None, None, runs(0.5, start=1), None),
        ],
    )
    assert rows(twin)[1].difference == "+0.0000 ± 0.0000"


def test_markdown_bolds_the_best_of_each_metric_and_says_the_true_epsilon(comparison):
    lines = markdown_table(comparison).splitlines()
    table = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("|")]
    assert {len(row) for row in table} == {8}
    assert table[0][-1] == "AUC − content"
    for row, result in zip(table[2:], comparison.results, strict=True):
        assert all(cell.startswith("**") == (result.label == "reports · nrms, ε ∞") for cell in row[3:7])
    assert [row[2] for row in table[2:]] == ["–", "–", "4", "∞", "60 (claimed 1)", "∞ (claimed 2)"]
    assert "400 impressions" in lines[-1]


def test_an_asked_for_epsilon_without_a_guarantee_is_not_shown_as_one():
    result = MethodResult("careless", None, 4.0, runs(0.0), None)
    assert rows(Comparison("d", "dev", [result]))[0].epsilon == "∞"


def test_a_guarantee_for_one_round_is_worth_nothing_over_a_lifetime():
    result = MethodResult("rounds", None, 4.0, runs(0.0), guarantee(4.0, scope=Scope.ROUND))
    assert result.lifetime_epsilon == math.inf
    assert rows(Comparison("d", "dev", [result]))[0].epsilon == "4 one round"


@pytest.mark.parametrize("width", [40, 60, 80, 160])
def test_the_terminal_table_loses_no_figure_and_breaks_no_word(comparison, width):
    console = Console(width=width, file=io.StringIO())
    console.print(rich_table(comparison))
    text = console.file.getvalue()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    words = set(text.split())
    for row in rows(comparison):
        for cell in (row.method, row.model, row.epsilon):
            assert set(cell.split()) <= words
    for row in rows(comparison):
        for cell in row.estimates:
            mean, se = cell.text.split(" ± ")
            assert mean in text
            assert f"±{se}" in text


def test_no_baseline_no_differences():
    alone = Comparison("d", "dev", [MethodResult("one", None, None, runs(0.0), None)])
    assert alone.reference is None
    assert "− " not in markdown_table(alone)
    assert "difference" not in html_report(alone, alone.plots())


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (None, ["No promise"]),
        (
            guarantee(2.0),
            ["Proved", "any one click", "the server sees", "lifetime", "e^2 ≈ 7.39", "δ = 1e-06", "sketch"],
        ),
        (guarantee(60.0, claimed=1.0), ["claim of ε = 1 does not hold", "e^60"]),
        (guarantee(math.inf), ["Unprotected", "nothing bounds", "ε = ∞"]),
        (guarantee(1.0, scope=Scope.ROUND, delta=0.0), ["in one round"]),
    ],
)
def test_a_guarantee_in_words(what, words):
    sentence = in_words(what)
    assert all(word in sentence for word in words)
    assert sentence.endswith(".")


def test_every_adversary_has_words():
    sentences = {in_words(replace(guarantee(2.0), adversary=adversary)) for adversary in Adversary}
    assert len(sentences) == len(Adversary)


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links, self.tags = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in {"src", "href", "xlink:href"}:
                self.links.append(value)


def test_the_report_is_one_self_contained_page(comparison, tmp_path):
    save_report(comparison, tmp_path / "deep", command="discreet compare x --methods a,b")
    text = (tmp_path / "deep" / "report.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    assert all(link.startswith("#") for link in page.links)
    assert len(page.ids) == len(set(page.ids))
    assert not {"script", "link", "img"} & set(page.tags)
    assert not re.search(r"url\((?!#)|@import", text)
    assert page.tags.count("svg") == 2
    assert "news &lt;world&gt;" in text
    assert "<world>" not in text
    assert "prefers-color-scheme" in text
    assert "discreet compare x --methods a,b" in text
    for row in rows(comparison):
        assert row.guarantee.split(" (")[0] in text
        assert all(cell.text in text.replace("\N{NO-BREAK SPACE}", " ") for cell in row.estimates)


def test_the_same_comparison_gives_the_same_bytes(comparison, tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    save_report(comparison, first)
    save_report(comparison, second)
    names = sorted(path.name for path in first.iterdir())
    assert {"report.html", "comparison.md", "comparison.json", "auc.svg", "epsilon.svg"} <= set(names)
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in names)


def test_the_plot_file_is_well_formed_and_knows_both_color_schemes(comparison, tmp_path):
    path = tmp_path / "auc.svg"
    save_report(comparison, tmp_path)
    root = ElementTree.parse(path).getroot()
    assert root.tag.endswith("svg")
    text = path.read_text(encoding="utf-8")
    assert "prefers-color-scheme:dark" in text
    labels = "".join(root.itertext())
    for result in comparison.results:
        assert result.label in labels


def test_plots_leave_the_callers_matplotlib_alone(comparison):
    import matplotlib

    before = dict(matplotlib.rcParams)
    auc_plot_svg(comparison)
    assert dict(matplotlib.rcParams) == before


def test_epsilon_plot_appears_with_several_epsilons_only(comparison):
    svg = epsilon_plot_svg(comparison)
    assert "∞" in svg
    assert "published · nrms" in svg
    single = Comparison("d", "dev", [comparison.results[0], comparison.results[2], comparison.results[4]])
    assert epsilon_plot_svg(single) is None


def test_epsilon_plot_without_any_finite_epsilon():
    results = [
        MethodResult("m", None, epsilon, runs(0.0), guarantee(math.inf, claimed=epsilon)) for epsilon in (1.0, 1.0)
    ]
    unlimited = [MethodResult("n", None, math.inf, runs(0.0), None)] * 2
    assert epsilon_plot_svg(Comparison("d", "dev", results)) is not None
    assert epsilon_plot_svg(Comparison("d", "dev", unlimited)) is not None


def test_budgets_that_differ_by_rounding_have_one_tick():
    """An accountant that ends at 0.999999 for ε = 1 is no second place on the axis."""
    nearly = MethodResult("rounds", None, 1.0, runs(0.0), guarantee(0.999999))
    results = [
        nearly,
        *(MethodResult("reports", None, epsilon, runs(0.0), guarantee(epsilon)) for epsilon in (1.0, 3.0)),
    ]
    svg = epsilon_plot_svg(Comparison("d", "dev", results))
    assert svg is not None
    assert "0.999999" not in svg


def test_the_page_says_truly_what_the_dashed_line_is(comparison):
    def caption(shown):
        page = html_report(shown, shown.plots())
        return re.search(r"the dashed line is [^.]*\.", page).group()

    assert caption(comparison) == "the dashed line is the best of them, content."
    assert caption(comparison.against("random")) == "the dashed line is that of random."


def test_results_on_different_impressions_cannot_be_compared():
    other = world(seed=1)
    elsewhere = ranking_metrics(np.zeros(len(other.shown)), other)
    here = MethodResult("here", None, None, runs(0.0), None)
    there = MethodResult("there", None, None, [elsewhere], None)
    with pytest.raises(ValueError, match="different impressions"):
        Comparison("d", "dev", [here, there])
    with pytest.raises(ValueError, match="different impressions"):
        here.minus(there, "auc")
    with pytest.raises(ValueError, match="different impressions"):
        MethodResult("both", None, None, [*runs(0.0), elsewhere], None)
    with pytest.raises(ValueError, match="at least one"):
        MethodResult("none", None, None, [], None)
    with pytest.raises(ValueError, match="at least one"):
        Comparison("d", "dev", [])
