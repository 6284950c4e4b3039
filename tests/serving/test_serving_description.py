"""Whatever the API's own description allows, and what it does not, is answered without a mistake of the server."""

import contextlib

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from served_world import running_server

TOKEN = "schemathesis-administrator"


@pytest.fixture(scope="module")
def description():
    with running_server(admin_token=TOKEN) as base:
        yield schemathesis.openapi.from_url(f"{base}/openapi.json")


def ask_everything(description, examples):
    """Send generated requests to every operation and return how many were answered, by status."""
    statuses = {}
    for operation in (found.ok() for found in description.get_all_operations()):
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

            @settings(
                max_examples=examples,
                deadline=None,
                derandomize=True,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(operation.as_strategy(generation_mode=mode))
            def ask(case):
                answer = case.call(headers={"Authorization": f"Bearer {TOKEN}"})
                statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
                assert answer.status_code < 500, (case.method, case.path, answer.text)

            with contextlib.suppress(Unsatisfiable):  # nothing can be wrong in a request without parameters
                ask()
    return statuses


def test_no_request_breaks_the_server(description):
    statuses = ask_everything(description, 12)
    assert statuses[200] >= 5  # every operation that asks for nothing
    assert statuses[422] > 20


@pytest.mark.slow
def test_no_request_of_many_breaks_the_server(description):
    assert ask_everything(description, 300)[422] > 500
