"""A server learns from noised sums what is popular, while devices rank by themselves."""

import base64
import json
import signal
import subprocess
import sys

import learning_site
import numpy as np
import pytest
from learning_site import DEVICES, START, WINDOW, LearningSite, SameSum, small_learner

from discreet.aggregation.dap.transport import PeerError
from discreet.privacy.noise import SimulatedNoise
from discreet.serving.learning.window_store import IMPOSSIBLE, Learnt

WINDOWS = 3


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [100.0, 1.0])
def test_what_many_click_becomes_popular(tmp_path, epsilon):
    """ε = 100 is as good as no noise: the sums are the truth. At ε = 1 they are the truth with its noise."""
    site = LearningSite(tmp_path, epsilon, SimulatedNoise(np.random.SeedSequence(5)))
    ids = site.service.updater.snapshot.ids
    favourite, others = ids[7], ids[20:26]
    bases = [_sent_base(site.service, favourite)]
    for number, clicks in enumerate(site.clicks):  # of ten devices a window, nine click the favourite
        article = favourite if number // WINDOWS else others[number]
        clicks.append((START + number % WINDOWS * WINDOW + 60, article))
        clicks.append((START + number % WINDOWS * WINDOW + 90, others[-1]))  # a second click of the day counts no more
    popularity = [site.popularity()[favourite]]
    for window in range(WINDOWS):
        site.run_window(window)
        popularity.append(site.popularity()[favourite])
        bases.append(_sent_base(site.service, favourite))
    assert [one.contributions for one in site.collected] == [DEVICES] * WINDOWS
    for window, found in enumerate(site.collected):
        cells = json.loads((site.cells / site.task.id.hex() / f"{window}.json").read_text())["cells"]
        truth = np.zeros(site.task.length, np.int64)
        truth[cells.index(favourite)], truth[cells.index(others[window])] = 9, 1
        noise = found.values - truth
        assert (np.abs(noise).max() == 0) if epsilon == 100 else (1.5 < noise.std() < 2.4)
    assert popularity[0] == 0
    assert min(popularity[1:]) > 2 or epsilon == 1  # once it stands on top, more clicks are expected of it
    assert popularity[-1] > 0.5
    assert max(site.popularity(), key=site.popularity().get) == favourite
    assert bases[-1] > bases[0] + 0.4
    site.learner.learn()
    assert len(site.collected) == WINDOWS
    site.close()


@pytest.mark.long
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_server_that_is_killed_uses_each_sum_once(tmp_path, when):
    for place in ("whole", "killed"):
        (tmp_path / place).mkdir()
    whole, learner = small_learner(tmp_path / "whole")
    learner.learn()
    expected = learner._store.learnt(whole.model.version)
    died = subprocess.run([sys.executable, learning_site.__file__, str(tmp_path / "killed"), when], check=False)
    assert died.returncode == -signal.SIGKILL
    service, learner = small_learner(tmp_path / "killed")
    assert learner._store.learnt(service.model.version).sums == (when == "after")
    learner.learn()
    learner.learn()
    assert learner._store.learnt(service.model.version) == expected
    assert expected.sums == 1


def test_a_window_without_a_sum_is_passed_over_and_one_that_cannot_be_had_yet_waits(tmp_path):
    from discreet.aggregation.dap.problems import ProblemType

    service, learner = small_learner(tmp_path)
    problems = [PeerError("no way there"), PeerError("too few", ProblemType.INVALID_BATCH_SIZE, answered=True)]

    class Failing:
        def collect(self, task, window):
            raise problems[0]

    learner._collector = Failing()
    learner.learn()
    assert learner._store.next_window(list(learner._tasks)) is not None
    problems.pop(0)
    learner.learn()
    assert learner._store.next_window(list(learner._tasks)) is None
    assert learner._store.learnt(service.model.version) == Learnt(0, b"")


@pytest.mark.parametrize(("place", "value"), [(0, 1_048_581), (1, -1_048_576), (2, 2**62), (3, 500)])
def test_a_window_with_an_impossible_sum_teaches_nothing(tmp_path, place, value):
    """30 readers have 30 clicks, and noise. The windows around it teach as if it had not been there."""
    clocks = [START + (window + 1) * WINDOW + 1.0 for window in range(4)]
    learnt = []
    for wild in (True, False):
        (tmp_path / str(wild)).mkdir()
        service, learner = small_learner(tmp_path / str(wild))

        class Damaged(SameSum):
            def collect(self, task, window):
                found = super().collect(task, window)
                if window == 1 and wild:  # noqa: B023
                    found.values[place] = value
                return found

        learner._collector = Damaged()
        for window, now in enumerate(clocks):
            learner._clock = lambda: now  # noqa: B023
            if wild or window != 1:
                learner.close_windows()
            learner.learn()
        service.updater.rates.read()
        learnt.append(service.updater.rates.of(service.updater.snapshot))
        (counted,) = learner._store.counted()
        assert counted["without_sum"] == ({IMPOSSIBLE: 1} if wild else {})
        service.store.close()
    assert learnt[0].tolist() == learnt[1].tolist()
    assert np.ptp(learnt[0]) > 0.1


@pytest.mark.parametrize("days", [60, 31, -60])
def test_a_clock_that_is_wrong_for_a_while_loses_no_window_and_no_sum(tmp_path, days):
    _, learner = small_learner(tmp_path)
    learner.learn()
    right = START + 2 * WINDOW + 1.0
    learner._clock = lambda: right
    learner.close_windows()
    collector, learner._collector = learner._collector, None
    learner._clock = lambda: right + days * 86_400
    learner.learn()
    assert [used.closed.window for used in learner._store.used()] == [0]
    learner._clock, learner._collector = lambda: right + WINDOW, collector
    learner.learn()
    assert [used.closed.window for used in learner._store.used()] == [0, 1]
    learner._store.forget(WINDOW // 2)
    assert [used.closed.window for used in learner._store.used()] == [1], "what is old is deleted"


def test_two_servers_of_one_database_use_a_sum_once(tmp_path):
    service, one = small_learner(tmp_path)
    _, other = small_learner(tmp_path)
    use = one._store.use

    def late(*given):
        other.learn()
        return use(*given)

    one._store.use = late
    one.learn()
    assert one._store.learnt(service.model.version).sums == 1


def test_cells_are_settled_once_and_published_from_the_database(tmp_path):
    service, learner = small_learner(tmp_path)
    file = tmp_path / "cells" / next(iter(learner._tasks)) / "0.json"
    page = file.read_bytes()
    file.unlink()
    service.updater.snapshot.base[:] = 0
    learner._clock = lambda: START + WINDOW + 2.0
    learner.close_windows()
    assert file.read_bytes() == page
    assert len(json.loads(page)["cells"]) == min(len(service.updater.snapshot), learning_site.ROOM)


def _sent_base(service, article):
    """The score for everybody that devices are sent."""
    service.updater.refresh()
    service.updater.step()
    bases = base64.b64decode(json.loads(service.catalogue().plain())["bases"])
    return float(np.frombuffer(bases, "<f4")[service.updater.snapshot.ids.index(article)])
