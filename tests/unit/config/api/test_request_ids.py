"""Every response and error has a request id: the caller's if it is valid, otherwise a new one."""

import logging
import re

import pytest
from django.db import connection

from tests.conftest import Api
from tests.support.api.fixtures import Raw, error_of

FRESH = re.compile(r"req_[0-9a-f]{24}")
PATHS = [
    "/api/public/chains",
    "/api/nowhere",
    "/pay/nosuchcode12",
    "/api/payment-requests",
]


@pytest.mark.parametrize("path", PATHS)
def test_every_response_has_a_request_id(public: Api, path: str) -> None:
    first, second = (public.get(path)["X-Request-Id"] for _ in range(2))
    assert FRESH.fullmatch(first)
    assert first != second


@pytest.mark.parametrize("given", ["a", "A.b:c_d-e", "x" * 128])
@pytest.mark.parametrize("path", PATHS)
def test_a_sane_one_is_kept(public: Api, path: str, given: str) -> None:
    response = public.get(path, **{"X-Request-Id": given})
    assert response["X-Request-Id"] == given
    if path.startswith("/api/") and response.status_code >= 400:
        assert error_of(response)["request_id"] == given


@pytest.mark.parametrize(
    "given",
    [
        "",
        "x" * 129,
        "two words",
        "line\r\nX-Evil: 1",
        "é",
        "\x00",
        "１２",
    ],
)
def test_any_other_is_replaced(public: Api, given: str) -> None:
    response = public.get("/api/nowhere", **{"X-Request-Id": given})
    assert FRESH.fullmatch(response["X-Request-Id"])
    assert error_of(response)["request_id"] == response["X-Request-Id"]


def test_a_crash_keeps_it_and_the_log_line_names_it(raw: Raw, caplog: pytest.LogCaptureFixture) -> None:
    def crash(*_: object) -> None:
        raise RuntimeError("a bug")

    with connection.execute_wrapper(crash), caplog.at_level(logging.ERROR):
        response = raw(method="GET", path="/api/public/chains", **{"X-Request-Id": "order-7"})
    assert response.status_code == 500
    assert error_of(response)["request_id"] == response["X-Request-Id"] == "order-7"
    assert "unhandled error" in caplog.text
