"""Methods and models of other packages on nodes: a node imports what its owner allows, and nothing else."""

import json
import math
import sys
from importlib.metadata import EntryPoint, EntryPoints

import numpy as np
import pytest
from rounds_by_hand import assert_learnt, by_hand, described

from discreet import plugins
from discreet.aggregation.secure_sum import Identity
from discreet.cli import run
from discreet.data.open import open_news
from discreet.data.public_catalogue import PublicCatalogue
from discreet.edge.jobs import open_job_for
from discreet.edge.node.host import Host
from discreet.errors import DiscreetError, InputError
from discreet.methods.method_registry import METHODS
from discreet.methods.published.fedrec import FedRec
from discreet.methods.run import Run
from discreet.methods.server_program import program, server_task
from discreet.nodes import LocalNodes
from discreet.nodes.configuration import NodeSettings, read_node, write_node

OWN = '''
from dataclasses import dataclass
from typing import ClassVar

from discreet import register
from discreet.methods.published.fedrec import FedRec


@register
@dataclass(frozen=True, kw_only=True)
class Own(FedRec):
    """Somebody else's method."""

    name: ClassVar[str] = "{module}"
'''


@pytest.fixture
def module(tmp_path, monkeypatch, request):
    """A module of another package that is installed and names itself as a plugin; it has not been imported."""
    name = f"own_{request.node.name[5:40]}"
    (tmp_path / f"{name}.py").write_text(OWN.format(module=name))
    monkeypatch.syspath_prepend(str(tmp_path))
    entry = EntryPoint(name="own", value=name, group=plugins.GROUP)
    monkeypatch.setattr(plugins, "_installed", lambda: EntryPoints([entry]))
    yield name
    sys.modules.pop(name, None)
    if name in METHODS:
        METHODS.forget(name)


@pytest.fixture
def catalogue(world, tmp_path):
    path = tmp_path / "catalogue.csv"
    PublicCatalogue.of(open_news(world)).write(path)
    return path


def of_another_name(name, task):
    """The job of a method under a name that this process does not know yet."""
    return described(FedRec(rounds=1), task, 3, simulated=True).to_bytes().replace(b'"fedrec"', f'"{name}"'.encode())


def node(world, folder, number=1, count=2, **changes):
    return NodeSettings(folder, number, world, f"{number}/{count}", math.inf, "simulated", **changes)


def test_a_server_cannot_make_a_node_import_what_its_owner_did_not_allow(module, world, task, tmp_path):
    plugins.load_only(())
    open_job = open_job_for(node(world, tmp_path / "node-1"))
    with pytest.raises(DiscreetError, match=f"no method is called '{module}'"):
        open_job(of_another_name(module, task))
    assert module not in sys.modules


def test_what_the_owner_allows_is_imported_before_the_node_listens(module, world, task, tmp_path):
    settings = node(world, tmp_path / "node-1", plugins=(module,))
    plugins.load_only(settings.plugins)
    assert module in sys.modules
    assert open_job_for(settings)(of_another_name(module, task))


def test_a_method_of_another_package_trains_over_nodes(module, world, catalogue, tmp_path):
    identities = {number: Identity.generate(number) for number in (1, 2)}
    roster = {number: identity.public for number, identity in identities.items()}
    settings = {number: node(world, tmp_path / f"node-{number}", number, plugins=(module,)) for number in roster}
    plugins.load_only((module,))
    hosts = {number: Host(identities[number], roster, open_job_for(settings[number])).answer for number in roster}
    arguments = {
        "method": module,
        "settings": {"rounds": 2, "fraction": 0.5},
        "catalogue": str(catalogue),
        "validation": None,
        "plugins": [module],
        "text": "hashed",
        "seed": 5,
        "out": str(tmp_path / "run"),
        "resume": False,
        "overwrite": False,
        "timeout": 300.0,
        "roster": {str(number): key.hex() for number, key in roster.items()},
        "simulated": True,
    }
    assert program(LocalNodes(hosts), json.loads(json.dumps(arguments)))["rounds"] == 2
    trained = Run.load(tmp_path / "run")
    assert type(trained.method).__module__ == module
    task = server_task(catalogue, world, text="hashed")
    nodes = described(trained.method, task, 5).task(open_news(world))  # the server's centre, and the nodes' clicks
    assert_learnt(trained.state, by_hand(trained.method, nodes, 5, 2, [(1, 2)] * 2))
    assert len(trained.state["watched"]) == 0  # the server has no clicks to measure on
    validated = [number for number, _ in trained.method.train(task, 5)["watched"]]
    assert validated == [1, 2]  # a data set of its own is measured on, if it is given
    assert np.isfinite(trained.evaluate(data=open_news(world)).records()[0]["auc"])


def test_a_nodes_settings_say_which_plugins_it_allows(tmp_path, world):
    folder = tmp_path / "node-1"
    write_node(node(world, folder, plugins=("own_package", "theirs.methods")))
    assert read_node(folder).plugins == ("own_package", "theirs.methods")
    said = json.loads((folder / "node.json").read_text())
    del said["plugins"]
    (folder / "node.json").write_text(json.dumps(said))
    assert read_node(folder).plugins == ()
    for wrong in ("own_package", ["own package"], ["..up"], [3]):
        (folder / "node.json").write_text(json.dumps(said | {"plugins": wrong}))
        with pytest.raises(InputError, match="'plugins' is a list of the modules"):
            read_node(folder)


def test_the_command_line_writes_them_down(tmp_path, world, monkeypatch):
    monkeypatch.setattr(plugins, "_named", [])
    assert run(["--plugin", "own_package", "nodes", "new", "2", str(world), "--out", str(tmp_path)]) == 0
    assert read_node(tmp_path / "node-2").plugins == ("own_package",)
