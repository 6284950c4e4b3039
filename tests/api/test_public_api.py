"""The public names: what a program of a few lines does with them, and what importing them costs."""

import ast
import importlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import discreet as d
from discreet.data.synthetic import news_world
from discreet.methods.method_registry import METHODS
from discreet.tabular import FORMATS

HEAVY = {"torch", "polars", "numba", "matplotlib", "scipy", "numpy", "fastapi", "pandas"}


@pytest.fixture(scope="module")
def news():
    return news_world(readers=150, train_days=2, history_days=4, seed=3)


@pytest.fixture
def own_method():
    """A method as another package would register it; forgotten again afterwards."""

    @d.register
    @dataclass(frozen=True)
    class Newest(d.Method):
        """The newest first."""

        name: ClassVar[str] = "newest"
        sign: float = 1.0

        def score(self, task, state, impressions, seed):
            return self.sign * task.data.articles.published[impressions.shown].astype(np.float64)

    yield Newest
    METHODS.forget("newest")


def test_importing_the_package_imports_nothing_heavy():
    code = f"import discreet as d, sys; dir(d); print(sorted({HEAVY!r} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_every_public_name_is_there():
    for name in d.__all__:
        assert getattr(d, name) is not None
    with pytest.raises(AttributeError, match="has no 'nothing'"):
        _ = d.nothing


def test_a_publisher_s_program(news, tmp_path):
    run = d.ClickReports(epsilon=1).fit(news, text="hashed")
    assert "click_reports" in repr(run.evaluate("dev"))
    assert repr(run).splitlines()[1] == str(run.guarantee)
    assert len(repr(run)) < 2000, "no arrays"
    assert run.guarantee.epsilon == pytest.approx(1)
    run.save(tmp_path / "run")
    again = d.Run.load(tmp_path / "run")
    dev = news.splits["dev"]
    assert np.array_equal(again.score(dev, news), run.score(dev))
    with pytest.raises(d.DiscreetError, match="loaded from a folder"):
        again.evaluate()


def test_a_consortium_s_program():
    rng = np.random.default_rng(0)
    pairs = sorted(
        {(int(u), int(i)) for u, i in zip(rng.integers(60, size=900), rng.integers(20, size=900), strict=True)}
    )
    frame = {
        "user": [u for u, _ in pairs],
        "item": [i for _, i in pairs],
        "rating": [(u + i) % 5 + 1 for u, i in pairs],
    }
    ratings = d.Ratings.from_frame(frame, scale=(1, 5))
    small = d.GibbsMF(rank=2, iterations=6, burn_in=2)
    found = d.compare_vendors(ratings, vendors=3, methods=[d.Local(small), d.Sharing(epsilon=5, model=small)])
    assert any("vendors" in sentence for sentence in found.verdict())
    assert "sharing" in repr(found)
    assert len(found.to_frame()) == len(found.results)


def test_a_researcher_s_program(news, own_method, tmp_path):
    found = d.compare(news, [own_method(), "recency"], text="hashed")
    assert [result.method for result in found.results] == ["newest", "recency"]
    run = own_method(sign=-1).fit(news)
    run.save(tmp_path / "run")
    assert d.Run.load(tmp_path / "run").method == own_method(sign=-1)


def test_a_data_set_shows_its_size_and_nobody_s_clicks(news):
    assert repr(news) == (
        f"NewsData({news.name!r}, {len(news.articles)} articles, {len(news.readers)} readers;"
        f" train: {len(news.splits['train'])} impressions, dev: {len(news.splits['dev'])} impressions)"
    )
    ratings = d.Ratings.from_frame({"user": ["ann", "bob"], "item": ["x", "x"], "rating": [1.0, 5.0]}, name="r")
    assert repr(ratings) == "Ratings('r', 2 of 2 users and 1 item, from 1 to 5)"


def test_results_in_every_format(news):
    found = d.compare(news, ["random", "recency"], text="hashed")
    lines = found.to_csv().splitlines()
    assert lines[0].startswith("method,variant,model,epsilon,seeds,auc,auc_se")
    assert len(lines) == 3
    assert found.to_markdown().startswith("| Method |")
    assert r"\toprule" in found.to_latex()
    assert "±" not in found.to_latex().split(r"\begin")[1]
    assert "<td>recency</td>" in found._repr_html_()
    assert found.to_frame()["auc"].to_list() == [row["auc"] for row in found.records()]
    for name in FORMATS:
        assert found.formatted(name)
    with pytest.raises(d.DiscreetError, match="no format 'xls'"):
        found.formatted("xls")


def test_a_method_is_registered_whole_or_not_at_all(own_method):
    with pytest.raises(d.DiscreetError, match="frozen dataclass"):

        @d.register
        class Loose(d.Method):
            name = "loose"

            def score(self, task, state, impressions, seed): ...

    with pytest.raises(d.DiscreetError, match="another method is called 'content'"):

        @d.register
        @dataclass(frozen=True)
        class Other(d.Method):
            name: ClassVar[str] = "content"

            def score(self, task, state, impressions, seed): ...

    assert "loose" not in METHODS


def test_audits_by_name():
    found = d.audit("randomized response (C=6 ε=1, exact)")
    assert not found.failures
    assert len(found) == len(found.to_frame()) > 0


PLUGIN = '''
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
import discreet as d

@d.register
@dataclass(frozen=True)
class Longest(d.Method):
    """The longest title first."""

    name: ClassVar[str] = "longest"

    def score(self, task, state, impressions, seed):
        return np.array([len(task.data.articles.titles[a]) for a in impressions.shown], float)
'''


@pytest.mark.long
def test_a_plugin_works_on_the_command_line(tmp_path):
    (tmp_path / "ownmodule.py").write_text(PLUGIN)

    def discreet(*words):
        command = [sys.executable, "-m", "discreet", "--plugin", "ownmodule", *words]
        path = f"{tmp_path}:{Path(d.__file__).parents[1]}"
        return subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env={"PYTHONPATH": path, "PATH": ""}
        )

    assert discreet("data", "synth", "world", "--readers", "100", "--days", "1").returncode == 0
    compared = discreet("compare", "world", "--methods", "longest,random", "--text", "hashed", "--format", "csv")
    assert compared.returncode == 0, compared.stderr
    assert compared.stdout.splitlines()[1].startswith("longest,")
    assert "longest" in discreet("list").stdout
    missing = subprocess.run(
        [sys.executable, "-m", "discreet", "--plugin", "nowhere", "list"], capture_output=True, text=True, check=False
    )
    assert missing.returncode == 2
    assert missing.stderr.startswith("discreet: --plugin nowhere cannot be imported")


def test_a_measurement_of_an_own_method_does_not_outlive_its_code(tmp_path, monkeypatch, news):
    monkeypatch.syspath_prepend(tmp_path)
    measured = []
    for number, sign in enumerate(("+", "-")):
        module = f"changing{number}"
        text = PLUGIN.replace('"longest"', f'"own{number}"').replace("return np.array", f"return {sign}np.array")
        (tmp_path / f"{module}.py").write_text(text)
        method = importlib.import_module(module).Longest()
        found = d.compare(news, [method], text="hashed", measurements=tmp_path / "kept")
        (tmp_path / f"{module}.py").write_text(text + "\n# changed\n")
        again = d.compare(news, [method], text="hashed", measurements=tmp_path / "kept")
        measured.append((found.results[0].reused, again.results[0].reused))
        METHODS.forget(f"own{number}")
    assert measured == [(0, 0), (0, 0)]


def test_one_method_stands_alone_and_what_is_none_is_refused(news):
    alone = d.compare(news, "recency", text="hashed")
    assert alone.records() == d.compare(news, ["recency"], text="hashed").records()
    assert [result.method for result in d.compare(news, d.Recency(), text="hashed").results] == ["recency"]
    for wrong in (3, None, [3], [None], [["recency"]], {"recency": 1}.values()):
        with pytest.raises(d.DiscreetError, match="is no Method and no name of one"):
            d.compare(news, wrong)
    with pytest.raises(d.DiscreetError, match="no method is called 'recent'"):
        d.compare(news, "recent")


def test_a_parameter_that_vendors_do_not_have_is_refused():
    ratings = d.Ratings.from_frame({"user": ["ann", "bob"], "item": ["x", "x"], "rating": [1.0, 5.0]})
    for wrong in ({"vendorz": 10}, {"dealing": "genre"}, {"epsilon": 1.0}):
        with pytest.raises(TypeError, match=next(iter(wrong))):
            d.compare_vendors(ratings, **wrong)
    for name in ("sizes", "distribution"):
        with pytest.raises(d.DiscreetError, match=f"{name} is one of .*, not 'other'"):
            d.compare_vendors(ratings, **{name: "other"})
    with pytest.raises(d.DiscreetError, match="no vendors' method is called 'loca'"):
        d.compare_vendors(ratings, methods="loca")


def test_types_and_imports_name_what_is_public():
    """The literal list is for people and type checkers; a name is imported lazily from the module that they read."""
    checked = ast.parse(Path(d.__file__).read_text())
    block = next(node for node in checked.body if isinstance(node, ast.If))
    typed = {alias.name: node.module for node in block.body for alias in node.names}
    assert typed == d._PUBLIC
    assert {*d.__all__} == {"__version__", *typed}
