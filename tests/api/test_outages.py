"""When the service is short of a part of itself the caller is told so, and nothing of its insides (contract 2)."""

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.test import Client

from tests.api.conftest import CREATE, Raw, error_of, nothing_stored

SECRET = 'connection to server at "10.0.0.7", port 5432 failed for user "quittance" password "hunter2"'
CALLS = [
    ("GET", "/api/public/chains"),
    ("GET", "/api/public/payment-requests/abcdefghjkmn"),
    ("POST", CREATE),
]


def failing(error: Exception) -> Callable[..., Any]:
    def fail(*_: Any) -> Any:
        raise error

    return fail


@pytest.mark.parametrize(
    "error", [OperationalError(SECRET), InterfaceError(SECRET)], ids=["operational", "interface"]
)
@pytest.mark.parametrize(("method", "path"), CALLS)
def test_a_database_that_is_away_is_503_with_a_time_to_come_back(
    raw: Raw, order: Callable[..., dict[str, Any]], method: str, path: str, error: Exception
) -> None:
    body = json.dumps(order()).encode()
    with connection.execute_wrapper(failing(error)):
        response = raw(body, method=method, path=path)
    told = error_of(response)
    assert (response.status_code, told["type"], told["code"]) == (
        503,
        "upstream_error",
        "service_unavailable",
    )
    assert int(response["Retry-After"]) > 0
    assert "hunter2" not in response.content.decode()
    assert nothing_stored()


@pytest.mark.parametrize(
    "bug", [RuntimeError(SECRET), KeyError(SECRET), AssertionError(SECRET), ZeroDivisionError(SECRET)]
)
@pytest.mark.parametrize(("method", "path"), CALLS)
def test_a_bug_is_500_and_shows_nothing_of_itself(
    raw: Raw,
    order: Callable[..., dict[str, Any]],
    caplog: pytest.LogCaptureFixture,
    method: str,
    path: str,
    bug: Exception,
) -> None:
    body = json.dumps(order()).encode()
    with connection.execute_wrapper(failing(bug)), caplog.at_level(logging.ERROR):
        response = raw(body, method=method, path=path)
    told = error_of(response)
    assert (response.status_code, told["type"], told["code"]) == (500, "api_error", "internal_error")
    for internal in ("hunter2", "10.0.0.7", type(bug).__name__, "Traceback", ".py"):
        assert internal not in response.content.decode()
    assert any(record.exc_info and record.exc_info[1] is bug for record in caplog.records)
    assert nothing_stored()


def test_a_host_that_is_not_ours_is_a_json_400_under_the_api(settings: Any, db: None) -> None:
    settings.ALLOWED_HOSTS = ["pay.example"]
    response = Client(raise_request_exception=False).get(
        "/api/public/chains", headers={"Host": "evil.example"}
    )
    assert response.status_code == 400
    error_of(response)
