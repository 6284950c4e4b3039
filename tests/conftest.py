"""Shared fixtures: where the public data sets and the drafts' test vectors are, if they are."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from stutter import stuttering

WAITING = (
    "aggregation/test_dap_processes",
    "browser/",
    "edge/test_device_served",
    "nodes/",
    "privacy/test_privacy_ledger_",
    "serving/",
    "vendors/test_sharing_nodes",
)
"""Where tests wait for a page, a process, a socket or a thread; `make test BUSY=yes` starves these."""

settings.register_profile("any machine", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", settings.get_profile("any machine"), derandomize=False)
settings.load_profile("any machine")  # no example fails for being slow, and all runs try the same ones

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # tests run side by side; waiting threads must not spin


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--stutter`, for tests that start processes."""
    parser.addoption("--stutter", action="store_true", help="stop the processes of each test at random, for up to 2 s")


@pytest.fixture(autouse=True)
def stutter(request: pytest.FixtureRequest) -> Iterator[None]:
    """With `--stutter`, what a test started stands still again and again."""
    if not request.config.getoption("--stutter"):
        yield
        return
    with stuttering(seed=len(request.node.nodeid)) as stopped:
        yield
    print(f"stood still {len(stopped)} times, {len(set(stopped))} processes")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that wait for anything carry the marker `waits`."""
    for item in items:
        if item.path.relative_to(Path(__file__).parent).as_posix().startswith(WAITING):
            item.add_marker("waits")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Remember what lies in the repository, before any test runs."""
    if not hasattr(session.config, "workerinput"):  # the main process, which starts the workers of xdist
        session.config.stash[_BEFORE] = _names_in_repository()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if the tests have left files in the repository."""
    if _BEFORE not in session.config.stash:
        return
    if left := sorted(_names_in_repository() - session.config.stash[_BEFORE]):
        session.config.stash[_LEFT] = left
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the files that were left."""
    if left := config.stash.get(_LEFT, []):
        terminalreporter.section("the tests have left files in the repository", red=True)
        terminalreporter.line(", ".join(left))


def _names_in_repository() -> set[str]:
    """What lies in the root of the repository, without the caches of tools, which are hidden."""
    return {path.name for path in Path(__file__).parents[1].iterdir() if not path.name.startswith(".")}


_BEFORE, _LEFT = pytest.StashKey[set[str]](), pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    root = Path(os.environ.get("DISCREET_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not root.is_dir():
        pytest.skip(f"public data sets are not at {root}; set DISCREET_DATA")
    return root


@pytest.fixture(scope="session")
def shared_specs() -> Path:
    root = Path(os.environ.get("DISCREET_SPECS", Path(__file__).parents[2] / "shared" / "specs"))
    if not root.is_dir():
        pytest.skip(f"the drafts' test vectors are not at {root}; set DISCREET_SPECS")
    return root


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """A small world on disk."""
    from discreet.data.synthetic import news_world, write_mind

    folder = tmp_path_factory.mktemp("nodes") / "world"
    write_mind(news_world(120, seed=9), folder)
    return folder


@pytest.fixture(scope="session")
def task(world):
    """It, opened, with its text."""
    from discreet.data.open import open_news
    from discreet.methods.method import TrainingTask

    return TrainingTask(open_news(world), "hashed")


@pytest.fixture(scope="session")
def postgres():
    """The address of a fresh PostgreSQL cluster, one for all tests of a process."""
    from postgres_cluster import running_cluster

    with running_cluster() as cluster:
        yield cluster.address
