"""Each sum makes a model version; a rollback serves an earlier one until it is lifted; the status tells all of it."""

import json

import numpy as np
import pytest
from learning_site import START, WINDOW, small_learner
from starlette.testclient import TestClient

from discreet.cli import run
from discreet.errors import DiscreetError
from discreet.privacy.filter import Spent
from discreet.serving.endpoints import create_app
from discreet.serving.learning.model_versions import ModelVersions, NewVersion
from discreet.serving.status import budget, days_until_cap, read_status, status_lines, year_guarantee

TOKEN = "0123456789abcdef"
ADMIN = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def learnt(tmp_path):
    """A server that has learnt from three windows."""
    service, learner = small_learner(tmp_path)
    rates = []
    for window in range(3):
        learner._clock.now = START + (window + 1) * WINDOW + 1.0
        learner.close_windows()
        learner._clock.now = START + (window + 2) * WINDOW + 1.0
        learner.learn()
        service.updater.refresh()
        service.updater.step()
        rates.append(service.updater.rates.of(service.updater.snapshot))
    yield service, learner, rates
    service.store.close()


def test_a_rollback_serves_an_earlier_version_until_it_is_lifted_and_learning_goes_on(learnt):
    service, learner, rates = learnt
    versions = service.versions.listing()
    assert [version.sums for version in versions] == [3, 2, 1]
    assert len({version.version for version in versions}) == 3
    assert all(version.usable for version in versions)

    def served():
        service.updater.refresh()
        service.updater.step()
        return service.updater.rates.of(service.updater.snapshot)

    service.versions.rollback(versions[-1].version[:10])
    assert np.allclose(served(), rates[0])
    learner._clock.now = START + 4 * WINDOW + 1.0
    learner.close_windows()
    learner._clock.now = START + 5 * WINDOW + 1.0
    learner.learn()
    assert service.versions.count() == 4
    assert np.allclose(served(), rates[0])
    assert ModelVersions(service.store).rolled_back_to() == versions[-1].version  # another process sees it, too
    service.versions.lift()
    assert not np.allclose(served(), rates[0])
    for wrong in ("", "zz", versions[0].version[:0]):
        with pytest.raises(DiscreetError, match="no version begins"):
            service.versions.rollback(wrong)


def test_old_versions_keep_their_names_and_one_a_day_what_it_knew(learnt):
    service, _, _ = learnt
    day = 86_400
    with service.store.engine.begin() as connection:
        for number in range(8):
            new = NewVersion("m", START + number * day // 2, number, "more")
            ModelVersions.add(connection, service.store.insert, new, b"state %d" % number)
    found = [(version.sums, version.usable) for version in service.versions.listing() if version.model == "m"]
    assert len(found) == 8
    assert [sums for sums, usable in found if usable] == [7, 6, 5, 4, 3, 1]  # 4 goes when 5, of its day, is a day old


def test_the_status_over_http_the_page_and_metrics(learnt):
    service, _, _ = learnt
    with TestClient(create_app(service, admin_token=TOKEN)) as web:
        for path in ("/v1/admin/status", "/v1/admin/models"):
            assert web.get(path).status_code == 401
        status = web.get("/v1/admin/status", headers=ADMIN).json()
        assert status["model"]["versions"] == 3
        assert status["tasks"][0]["collected"] == 3
        assert status["tasks"][0]["contributions"] == 90
        assert status["running"]["refused"] == {"HTTP 401": 2}
        assert web.get("/admin").status_code == 200
        assert (
            'discreet_windows{state="collected",task="front page popularity"} 3.0'
            in web.get("/metrics", headers=ADMIN).text
        )
        oldest = web.get("/v1/admin/models", headers=ADMIN).json()["versions"][-1]["version"]
        assert web.post(f"/v1/admin/models/{oldest}/rollback", headers=ADMIN).json() == {"rolled_back_to": oldest}
        assert web.get("/v1/admin/models", headers=ADMIN).json()["rolled_back_to"] == oldest
        assert web.post("/v1/admin/models/nothing/rollback", headers=ADMIN).status_code == 404
        assert web.delete("/v1/admin/rollback", headers=ADMIN).json() == {"rolled_back_to": None}


def test_the_command_line_says_the_same(learnt, tmp_path, capsys):
    service, _, _ = learnt
    database = ["--database", str(tmp_path / "s.sqlite")]
    assert run(["status", *database, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["model"]["versions"] == 3
    assert told["running"] is None
    assert told["budget"]["tasks"][0]["day"]["epsilon"] == 1.0
    assert run(["status", *database]) == 0
    assert "3 windows learnt from" in capsys.readouterr().out
    assert run(["models", "list", *database]) == 0
    version = capsys.readouterr().out.splitlines()[-1].split()[0]
    assert run(["models", "rollback", version[:12], *database]) == 0
    assert service.versions.rolled_back_to() == version
    assert run(["status", *database]) == 0
    assert "ROLLED BACK" in capsys.readouterr().out
    assert run(["models", "lift", *database]) == 0
    assert service.versions.rolled_back_to() is None
    assert run(["models", "rollback", "nothing", *database]) == 2
    assert run(["status", "--database", str(tmp_path / "none.sqlite")]) == 2


def test_what_sums_cost_in_a_year_and_until_the_cap():
    from learning_site import learning_task

    from discreet.methods.front_page.front_page import FrontPage

    task = learning_task(0.05)
    exact = FrontPage(epsilon=0.05).lifetime(365)
    assert exact <= year_guarantee((task,)).epsilon <= 1.1 * exact
    assert year_guarantee((task,)).epsilon == Spent.of([(0.05, 0.0)] * 365).at(1e-6)
    assert year_guarantee((learning_task(3.0),)).epsilon == 3 * 365
    assert days_until_cap((learning_task(1.0),)) == 10
    assert days_until_cap((task,)) > 200
    assert budget([])["together"] is None


def test_a_status_without_anything_is_told_plainly(tmp_path, capsys):
    service, _ = small_learner(tmp_path)
    found = read_status(service.store)
    lines = status_lines(found)
    assert any("nothing was learnt yet" in line for line in lines)
    assert any("nothing was measured yet" in line for line in lines)
    lost = {"name": "clicks", "collected": 0, "waiting": 1, "without_sum": {"invalidBatchSize": 2}, "contributions": 3}
    assert "2 (too few contributions) without a sum" in " ".join(status_lines({**found, "tasks": [lost]}))
    assert run(["models", "list", "--database", str(tmp_path / "s.sqlite")]) == 0
    assert "there is no version" in capsys.readouterr().out
