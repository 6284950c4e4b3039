"""Whatever the API's own description allows, and what it does not, is answered without a mistake of the server."""

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import checks
from served_world import running_server

TOKEN = "schemathesis-administrator"


@pytest.fixture(scope="module")
def description():
    with running_server(admin_token=TOKEN) as base:
        yield schemathesis.openapi.from_url(f"{base}/openapi.json")


schema = schemathesis.pytest.from_fixture("description")
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": True}


@schema.parametrize()
@settings(max_examples=12, **QUIET)
def test_no_request_breaks_the_server(case):
    case.call_and_validate(checks=[checks.not_a_server_error], headers={"Authorization": f"Bearer {TOKEN}"})


@pytest.mark.slow
@schema.parametrize()
@settings(max_examples=300, **QUIET)
def test_no_request_of_many_breaks_the_server(case):
    case.call_and_validate(checks=[checks.not_a_server_error], headers={"Authorization": f"Bearer {TOKEN}"})
