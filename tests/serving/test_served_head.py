"""The head that a run of `front_page` has learnt: devices, in Python and in the browser, score it as the simulator."""

import base64
import json
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from chromium import WEB
from served_world import small_world
from tools import tool

from discreet.cli import run
from discreet.data.shown_articles import ShownArticles
from discreet.edge.reader.personal_scores import ReadArticle, matrix, personal_scores
from discreet.edge.reader.publisher_terms import HistoryWeights, PublisherTerms
from discreet.errors import DiscreetError
from discreet.methods.front_page.front_page import FrontPage
from discreet.methods.front_page.head import LENGTH, head_scores
from discreet.methods.front_page.head_articles import SIZE, HeadArticles
from discreet.methods.front_page.public_articles import PublicArticles
from discreet.methods.front_page.symmetric import symmetric_matrix, symmetric_vector
from discreet.methods.method import TrainingTask
from discreet.methods.run import Run
from discreet.protocol.check import read
from discreet.serving.front_page_head import MAX_SERVED, FrontPageHead
from discreet.serving.learning.public_terms import public_terms
from discreet.serving.server import open_service

IMPRESSIONS = 40


@pytest.fixture(scope="module")
def task():
    return TrainingTask(small_world(), "hashed")


@pytest.fixture(scope="module")
def head_run(tmp_path_factory):
    """A run as it is trained, with a head of 48 directions that sixty readers could not teach."""
    folder = tmp_path_factory.mktemp("runs") / "head"
    fitted = FrontPage(epsilon=0.5, head_share=0.3).fit(small_world(), text="hashed")
    directions = np.random.default_rng(0).normal(0, 0.1, (SIZE, MAX_SERVED))
    signs = np.where(np.arange(MAX_SERVED) % 2, -1, 1)
    learnt = symmetric_vector(directions * signs @ directions.T)
    state = {**fitted.state, "head": learnt, **HeadArticles.of(fitted.task).state(fitted.task)}
    replace(fitted, state=state).save(folder)
    return folder


@pytest.fixture(scope="module")
def service(head_run, tmp_path_factory):
    terms, world = public_terms(head_run), small_world()
    made = open_service(
        None,
        None,
        database=tmp_path_factory.mktemp("served") / "s.sqlite",
        data=ShownArticles.of(world),
        text=terms.text,
        training=terms.training,
        head=terms.head,
    )
    made.updater.step()
    yield made
    made.close()


@pytest.fixture(scope="module")
def told(service):
    return read("model", service.about().plain())


@pytest.fixture(scope="module")
def sent(service):
    """The vector of each article of the data, as devices get it."""
    s = service.snapshot
    entries = {name: json.loads(b"{%s}" % entry)["vector"] for name, entry in zip(s.ids, s.entries, strict=True)}
    return [base64.b64decode(entries[name]) for name in small_world().articles.ids]


@pytest.fixture(scope="module")
def rounded_scores(task, head_run, told, sent):
    """What the simulator scores with the coordinates that devices have."""
    state, vectors = Run.load(head_run).state, told["vectors"]
    size = len(vectors["head"])
    steps = vectors["scale"] * matrix(sent, vectors["dimension"])[:, -size:].astype(np.float64)
    values, directions = np.linalg.eigh(symmetric_matrix(state["head"]))
    served = np.sort(np.argsort(-np.abs(values), kind="stable")[:size])
    units = np.sqrt(np.asarray(vectors["head"]) / values[served])
    articles = replace(HeadArticles.of(task, state), vectors=(steps * units) @ directions[:, served].T)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(HeadArticles, "of", lambda *_: articles)
        return head_scores(task, state, part())


def part():
    dev = small_world().splits["dev"]
    return dev.select(np.arange(len(dev)) < IMPRESSIONS)


def each_impression(sent):
    """The vectors of what was shown, and those of the history."""
    dev = part()
    for i in range(len(dev)):
        shown = dev.shown[dev.slate[i] : dev.slate[i + 1]]
        yield [sent[row] for row in shown.tolist()], [sent[row] for row in dev.history(i).tolist()]


def test_a_run_tells_its_head_and_what_it_cost(head_run, told, service):
    terms = public_terms(head_run)
    assert (len(terms.head.values), terms.unserved, terms.weights) == (48, "", None)
    assert terms.training == Run.load(head_run).guarantee
    assert (told["weights"]["head"], len(told["vectors"]["head"])) == (1, 48)
    assert told["vectors"]["dimension"] == 512 + 48
    assert any("a head from one matrix of each reader" in line for line in json.loads(service.about().plain())["words"])
    assert replace(service.model, head=None).version != service.model.version


def test_coordinates_have_the_scores_of_the_simulator(task, head_run):
    state, articles, dev = Run.load(head_run).state, task.data.articles, part()
    head = FrontPageHead.from_state(state)
    assert np.array_equal(head.text_centre, task.public_centre)
    places = list(zip(articles.categories, articles.subcategories, strict=True))
    z = head.coordinates(PublicArticles.of(task).vectors, places)
    wanted = head_scores(task, state, dev)
    history = np.stack([z[dev.history(i)].sum(axis=0) / max(1, len(dev.history(i))) for i in range(len(dev))])
    found = np.einsum("nk,nk,k->n", history[dev.impression_of_shown], z[dev.shown], head.values)
    assert np.abs(found - wanted).max() < 1e-6 * np.abs(wanted).max()


def test_a_device_scores_the_head_as_the_simulator_does(told, sent, rounded_scores, task, head_run):
    terms = replace(PublisherTerms.from_json(told), weights=HistoryWeights(head=1.0))
    found = np.concatenate(
        [
            personal_scores(
                matrix(shown, terms.dimension),
                [("", "")] * len(shown),
                [ReadArticle(one, "") for one in history],
                terms,
            )
            for shown, history in each_impression(sent)
        ]
    )
    assert np.abs(found - rounded_scores).max() < 1e-6 * np.abs(rounded_scores).max()
    exact = head_scores(task, Run.load(head_run).state, part())
    assert np.corrcoef(found, exact)[0, 1] > 0.99, "bytes, and word weights of another catalogue"


def in_node(source):
    node = tool("node")
    done = subprocess.run([node, "--input-type=module"], input=source, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def test_a_browser_scores_the_head_as_the_simulator_does(told, sent, rounded_scores):
    model = {**told, "weights": {"interest": 0, "mean": 0, "nearest": 0, "category": 0, "head": 1}}
    signed = [np.frombuffer(vector, np.int8).tolist() for vector in sent]
    rows = {vector: row for row, vector in enumerate(sent)}
    slates = [[[rows[one] for one in side] for side in both] for both in each_impression(sent)]
    found = in_node(
        f"import {{ personalScores }} from {json.dumps((WEB / 'device' / 'personal.js').as_uri())};"
        f"const known = {signed}.map((vector) => ({{ vector: Int8Array.from(vector) }}));"
        f"const model = {json.dumps(model)}, all = (rows) => rows.map((row) => known[row]);"
        f"const scores = ([shown, history]) => [...personalScores(all(shown), all(history), model)];"
        f"console.log(JSON.stringify({slates}.flatMap(scores)));"
    )
    assert np.abs(np.array(found) - rounded_scores).max() < 1e-6 * np.abs(rounded_scores).max()


def test_a_browser_refuses_a_head_that_leaves_no_vector(told):
    good, bad = (
        {**told, "vectors": {"dimension": 2, "scale": 1, "unit": 1, "centre": [0, 0], "head": [1.0] * size}}
        for size in (1, 2)
    )
    found = in_node(
        f"import {{ readTerms }} from {json.dumps((WEB / 'device' / 'terms.js').as_uri())};"
        "const why = (model) => { try { readTerms(new TextEncoder().encode(JSON.stringify(model)), 2e9); return ''; }"
        " catch (error) { return error.message; } };"
        f"console.log(JSON.stringify({json.dumps([good, bad])}.map(why)));"
    )
    assert found == ["", "the publisher's terms are refused: its head is as long as its vectors"]


def test_a_section_that_is_not_known_counts_as_its_category(head_run):
    head = public_terms(head_run).head
    category, section = next(topic for topic in head.topics if topic[1])
    places = [(category, section), (category, "new"), (category, ""), ("new", section), ("", "new")]
    found = head.coordinates(np.zeros((5, len(head.text_centre)), np.float32), places) + head.centre
    rows = [head.topics.index(place) for place in ((category, section), (category, ""))]
    assert found == pytest.approx(head.topic_basis[[rows[0], rows[1], rows[1], -1, -1]])
    assert not found[3:].any()


def test_a_head_that_cannot_be_served_is_told_in_one_line(head_run, tmp_path, capsys):
    trained = Run.load(head_run)
    old = {name: value for name, value in trained.state.items() if name not in ("head_topics", "head_text_centre")}
    cases = {
        "trained by an older version": old,
        "stood out of noise": {**trained.state, "head": np.zeros(LENGTH)},
        "leave no room": {**trained.state, "head_text_centre": np.zeros(1000, np.float32)},
    }
    for number, (reason, state) in enumerate(cases.items()):
        folder = tmp_path / str(number)
        replace(trained, state=state).save(folder)
        terms = public_terms(folder)
        assert (terms.head, terms.training) == (None, None)
        assert reason in terms.unserved
    assert run(["serve", str(tmp_path / "0"), "--check"]) == 0
    assert "The head of this run is not served: it was trained by an older version" in capsys.readouterr().out


def test_title_vectors_of_another_kind_are_refused(service):
    other = replace(service.model, head=replace(service.model.head, text_centre=np.zeros(50, np.float32)))
    with pytest.raises(DiscreetError, match="have 512 dimensions here and had 50 in training"):
        other.title_vectors(["A title"])
