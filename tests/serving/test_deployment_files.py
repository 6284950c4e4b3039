"""Compose, Prometheus, Grafana and the chart, without running them: what they name exists, and pods may do little."""

import json
import re
from pathlib import Path

import pytest
import yaml
from chart import CHART, rendered
from typer.main import get_command

from discreet.cli.app import app
from discreet.serving.gate import Metrics
from discreet.version import __version__

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SUMS = yaml.safe_load((ROOT / "compose.sums.yaml").read_text())
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "dashboards" / "discreet.json").read_text())
ALERTS = yaml.safe_load((ROOT / "deploy" / "alerts.yaml").read_text())
_OURS = re.compile(r"\bdiscreet_\w+")
_ENDS = {"counter": ["_total"], "histogram": ["_bucket", "_count", "_sum"], "gauge": [""]}


def metrics():
    """All that /metrics can show, with their labels: those of the server, of its status and of its door."""
    found = {}
    registry = Metrics().registry
    for collector in set(registry._collector_to_names):
        for one in collector.describe():
            labels = set(getattr(collector, "_labelnames", ()))
            for end in _ENDS[one.type]:
                found[one.name + end] = labels | ({"le"} if end == "_bucket" else set())
    return found


def expressions():
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            yield target["expr"]
    for group in ALERTS["groups"]:
        for rule in group["rules"]:
            yield rule["expr"]


def test_every_metric_of_dashboards_and_alerts_exists_with_its_labels():
    known, used = metrics(), set()
    for expression in expressions():
        names = _OURS.findall(expression)
        used.update(names)
        assert names or expression.startswith("up{")
        assert set(names) <= set(known), f"not in /metrics: {set(names) - set(known)}"
        asked = {label for group in re.findall(r"by \(([\w, ]+)\)", expression) for label in group.split(", ")}
        assert asked <= set().union(*(known[name] for name in names), set()), expression
    bases = {name for name in known if not name.endswith(("_count", "_sum"))}
    assert bases - used <= {"discreet_catalogue_revision"}, "a metric that nobody sees"


def test_prometheus_sends_the_token_from_a_file_that_it_is_given():
    (scrape,) = yaml.safe_load((ROOT / "deploy" / "prometheus.yaml").read_text())["scrape_configs"]
    file = Path(scrape["authorization"]["credentials_file"])
    assert file.parent == Path("/run/secrets")
    assert file.name in COMPOSE["services"]["prometheus"]["secrets"]
    assert file.name in COMPOSE["secrets"]


def test_panels_do_not_lie_on_each_other():
    places = [(one["gridPos"]["x"], one["gridPos"]["y"]) for one in DASHBOARD["panels"]]
    assert len(set(places)) == len(places)
    assert len({one["id"] for one in DASHBOARD["panels"]}) == len(places)
    source = yaml.safe_load((ROOT / "deploy/grafana/provisioning/datasources/prometheus.yaml").read_text())
    assert {one["datasource"]["uid"] for one in DASHBOARD["panels"]} == {source["datasources"][0]["uid"]}


def test_what_compose_mounts_exists_and_everything_has_limits():
    for name, service in {**COMPOSE["services"], **SUMS["services"]}.items():
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            if source.startswith("./deploy"):
                assert (ROOT / source).exists(), source
        if name != "discreet":
            assert service["read_only"] is True
            assert service["cap_drop"] == ["ALL"]
            assert service["mem_limit"]
    named = {v.partition(":")[0] for s in COMPOSE["services"].values() for v in s.get("volumes", []) if v[0] != "."}
    assert named == set(COMPOSE["volumes"])


def test_compose_builds_each_image_of_ours_that_it_names():
    ours = [
        service
        for file in (COMPOSE, SUMS)
        for name, service in file["services"].items()
        if name in ("discreet", "helper")
    ]
    assert len(ours) == 3
    for service in ours:
        assert service["image"] == "discreet"
        assert service["build"] == COMPOSE["services"]["discreet"]["build"]
        assert (ROOT / service["build"]["context"] / "Dockerfile").exists()
    for service in COMPOSE["services"].values():
        assert "build" in service or ":" in service["image"], "what is not built has a version"


def options_of(*command):
    found = get_command(app)
    for name in command:
        found = found.commands[name]
    return {option for one in found.params for option in one.opts}


def test_the_commands_of_compose_and_the_chart_exist():
    given = [word.partition("=")[0] for word in SUMS["services"]["discreet"]["command"] if word.startswith("--")]
    assert set(given) <= options_of("serve")
    before = COMPOSE["services"]["discreet"]["command"]
    assert [w.partition("=")[0] for w in SUMS["services"]["discreet"]["command"]][: len(before)] == [
        w.partition("=")[0] for w in before
    ]
    assert set(SUMS["services"]["helper"]["entrypoint"][2:]) & {"--as", "--config"} <= options_of("aggregate")
    publisher = container(rendered(feeds=["https://x/rss"], trustedProxies=["10.0.0.0/8"], sums__enabled=True))
    assert publisher["command"] == ["discreet", "serve"]
    assert {word.partition("=")[0] for word in publisher["args"]} <= options_of("serve")
    assert "--feed=https://x/rss" in publisher["args"]
    helper = container(rendered(role="helper"))
    assert {word for word in helper["args"] if word.startswith("--")} <= options_of("aggregate")


def container(documents):
    return documents["Deployment"]["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize("role", ["publisher", "helper"])
@pytest.mark.parametrize("sums", [False, True])
def test_pods_may_do_little_and_are_asked_by_few(role, sums):
    documents = rendered(role=role, sums__enabled=sums)
    assert set(documents) == {"Deployment", "Service", "ServiceAccount", "PodDisruptionBudget", "NetworkPolicy"}
    pod = documents["Deployment"]["spec"]["template"]
    spec, one = pod["spec"], container(documents)
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 10001
    assert spec["automountServiceAccountToken"] is False
    assert one["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert one["resources"]["limits"]["memory"]
    assert one["livenessProbe"]
    assert one["readinessProbe"]
    assert {mount["name"] for mount in one["volumeMounts"]} == {volume["name"] for volume in spec["volumes"]}
    labels = pod["metadata"]["labels"]
    for kind, place in (("Service", "selector"), ("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")):
        wanted = documents[kind]["spec"][place]
        assert (wanted.get("matchLabels") or wanted).items() <= labels.items()
    policy = documents["NetworkPolicy"]["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    reaches_outside = any("ipBlock" in str(rule) for rule in policy["egress"])
    assert reaches_outside == (role == "publisher"), "a helper asks nobody"
    assert "podSelector" not in str(policy["ingress"]), "no pod of the other aggregator is let in by its labels"


def test_a_release_is_one_party():
    for role, other in (("publisher", "helper"), ("helper", "publisher")):
        names = [one["metadata"]["name"] for one in rendered(role=role).values()]
        assert all(role in name for name in names)
        assert not any(other in name for name in names)
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["apiVersion"] == "v2"
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert chart["appVersion"] == values["image"]["tag"] == __version__
