"""If a part of the service is down, callers get a plain 503 without internal details."""

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, close_old_connections, connection
from django.test import Client
from django.utils import timezone

from chains.models import Chain, Token
from config.api.errors import ApiError, ErrorCode, status_of
from config.api.handler import exception_handler, json_error
from config.database.compiled_query import run
from payments.models import PayerProof, PaymentRequest, Route
from tests.conftest import Api
from tests.support.api.fixtures import CREATE, Raw, error_of, nothing_stored

SECRET = 'connection to server at "10.0.0.7", port 5432 failed for user "quittance" password "hunter2"'
CALLS = [
    ("GET", "/api/public/chains"),
    ("GET", "/api/public/payment-requests/abcdefghjkmn"),
    ("POST", CREATE),
]


def failing_in_postgresql(sqlstate: str) -> Callable[..., Any]:
    """Return a wrapper that makes PostgreSQL raise this error in place of each statement."""

    def fail(execute: Callable[..., Any], _sql: str, _params: Any, many: bool, context: Any) -> Any:
        raised = f"DO $$ BEGIN RAISE EXCEPTION '{SECRET}' USING ERRCODE = '{sqlstate}'; END $$"
        return execute(raised, None, many, context)

    return fail


def failing(error: Exception) -> Callable[..., Any]:
    def fail(*_: Any) -> Any:
        raise error

    return fail


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_a_database_that_is_away_is_503_with_a_time_to_come_back(
    raw: Raw, order: Callable[..., dict[str, Any]], method: str, path: str
) -> None:
    body = json.dumps(order()).encode()
    with connection.execute_wrapper(failing(OperationalError(SECRET))):
        response = raw(body, method=method, path=path)
    error = error_of(response)
    assert (response.status_code, error["type"], error["code"]) == (
        503,
        "upstream_error",
        "service_unavailable",
    )
    assert int(response["Retry-After"]) > 0
    assert "hunter2" not in response.content.decode()
    assert nothing_stored()


@pytest.mark.parametrize(
    ("sqlstate", "status"),
    [
        ("57P01", 503),
        ("42P01", 500),  # a defect of the product: a retry can't help
    ],
)
@pytest.mark.django_db(transaction=True)
def test_sqlstate_decides_whether_a_call_may_be_repeated(
    raw: Raw, order: Callable[..., dict[str, Any]], sqlstate: str, status: int
) -> None:
    body = json.dumps(order()).encode()
    with connection.execute_wrapper(failing_in_postgresql(sqlstate)):
        response = raw(body, method="POST", path=CREATE)
    assert response.status_code == status
    assert response.headers.get("Retry-After") == ("5" if status == 503 else None)
    assert "hunter2" not in response.content.decode()
    close_old_connections()  # as at the end of each request
    assert nothing_stored()


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_a_bug_is_500_and_shows_nothing_of_itself(
    raw: Raw,
    order: Callable[..., dict[str, Any]],
    caplog: pytest.LogCaptureFixture,
    method: str,
    path: str,
) -> None:
    body, bug = json.dumps(order()).encode(), RuntimeError(SECRET)
    with connection.execute_wrapper(failing(bug)), caplog.at_level(logging.ERROR):
        response = raw(body, method=method, path=path)
    error = error_of(response)
    assert (response.status_code, error["type"], error["code"]) == (500, "api_error", "internal_error")
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


@pytest.mark.parametrize("code", [code for code in ErrorCode if status_of(code) == 503])
def test_each_503_says_in_how_many_seconds_to_come_back(code: ErrorCode) -> None:
    error = ApiError(code, "It is away.")
    for response in (exception_handler(error, {}), json_error(error)):
        assert (response.status_code, response["Retry-After"]) == (503, "5")
    named = ApiError(code, "It is away.", retry_after=60)
    assert exception_handler(named, {})["Retry-After"] == "60"


def test_no_other_error_names_a_time_of_its_own_accord() -> None:
    for code in ErrorCode:
        if status_of(code) != 503:
            assert "Retry-After" not in exception_handler(ApiError(code, "No."), {})


@pytest.mark.parametrize("path", ["build-transaction", "payment-requests/{id}/payer-proof"])
def test_a_chain_without_a_node_is_503_with_a_time_to_come_back(
    api: Api, public: Api, order: Callable[..., dict[str, Any]], chain: Chain, usdc: Token, path: str
) -> None:
    created = api.post(CREATE, order()).json()
    page = f"/api/public/payment-requests/{created['id']}"
    wallet = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
    asked = {"wallet_address": wallet, "chain_id": chain.pk, "token_id": usdc.pk}
    (route,) = public.post(f"{page}/routes", asked).json()["routes"]
    built_at = timezone.now()
    Route.objects.update(built_at=built_at, proof_message="I pay")
    Chain.objects.update(rpc_urls=[])
    body = {"route_id": route["id"]}
    if path != "build-transaction":
        body |= {"wallet_address": wallet, "signature": "0x" + "1" * 130}
    response = public.post(f"/api/public/{path.format(id=created['id'])}", body)
    error = error_of(response)
    assert (response.status_code, error["type"], error["code"]) == (503, "upstream_error", "node_unavailable")
    assert int(response["Retry-After"]) > 0
    assert Route.objects.get().built_at == built_at
    assert not PayerProof.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_connection_to_a_demoted_primary_is_replaced(raw: Raw, order: Callable[..., dict[str, Any]]) -> None:
    body = json.dumps(order()).encode()
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    demoted = connection.connection
    rejected = raw(body, method="POST", path=CREATE)
    assert (rejected.status_code, error_of(rejected)["code"]) == (503, "service_unavailable")
    assert int(rejected["Retry-After"]) > 0
    assert demoted.closed
    close_old_connections()  # as at the end of each request
    assert nothing_stored()
    assert raw(body, method="POST", path=CREATE).status_code == 201


@pytest.mark.django_db(transaction=True)
def test_connection_lost_after_the_commit_promises_nothing(
    raw: Raw, order: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    body, key = json.dumps(order()).encode(), {"Idempotency-Key": "order-1001"}
    own: Any = connection  # Django's stubs lack `_commit`
    commit = own._commit

    def commit_and_lose_the_connection() -> None:
        commit()
        run("SELECT pg_terminate_backend(pg_backend_pid())", [])

    with monkeypatch.context() as broken:
        broken.setattr(own, "_commit", commit_and_lose_the_connection)
        lost = raw(body, method="POST", path=CREATE, **key)
    error = error_of(lost)
    assert (lost.status_code, error["code"]) == (503, "service_unavailable")
    assert "may have taken effect" in error["message"]
    assert "the same Idempotency-Key" in error["message"]
    close_old_connections()  # as at the end of each request
    stored = PaymentRequest.objects.get()
    repeated = raw(body, method="POST", path=CREATE, **key)
    assert (repeated.status_code, repeated.json()["id"]) == (201, str(stored.pk))
    assert PaymentRequest.objects.count() == 1
