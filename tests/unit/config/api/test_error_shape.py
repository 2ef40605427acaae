"""All errors have the same format: every failed field, and the first field's message."""

from collections.abc import Callable
from typing import Any

import pytest

from config.api.errors import (
    FINAL_CONFLICTS,
    TEMPORARY_CONFLICTS,
    ErrorCode,
    ErrorType,
    status_of,
    type_of,
)
from tests.conftest import Api
from tests.support.api.fixtures import CREATE, error_of, nothing_stored

Order = Callable[..., dict[str, Any]]


def test_bad_field_error_has_every_part_of_the_shape(api: Api, order: Order) -> None:
    response = api.post(CREATE, order(amount="1.1234567"))
    error = error_of(response)
    assert response.status_code == 400
    message = "USDC has 6 decimals; got 7 fraction digits."
    assert error == {
        "type": "invalid_request_error",
        "code": "amount_too_precise",
        "message": message,
        "param": "amount",
        "request_id": response["X-Request-Id"],
        "details": [{"param": "amount", "code": "amount_too_precise", "message": message}],
    }
    assert nothing_stored()


def test_failed_fields_are_listed_in_documented_order(api: Api, order: Order) -> None:
    response = api.post(
        CREATE,
        order(
            tip="1",
            metadata={"cart": 7},
            references="yes",
            expires_in=1,
            webhook_url="nowhere",
            cancel_url="javascript:alert(1)",
            redirect_url="ftp://shop.example",
            description="x" * 501,
            external_id="a\x1bb",
            recipient_address="0x12",
            token_id=10**9,
            amount="",
        ),
    )
    error = error_of(response)
    assert response.status_code == 400
    assert [(detail["param"], detail["code"]) for detail in error["details"]] == [
        ("amount", "amount_invalid"),
        ("token_id", "token_unknown"),
        ("recipient_address", "address_invalid"),
        ("external_id", "parameter_invalid"),
        ("redirect_url", "url_invalid"),
        ("cancel_url", "url_invalid"),
        ("description", "parameter_invalid"),
        ("metadata.cart", "parameter_invalid"),
        ("expires_in", "parameter_invalid"),
        ("webhook_url", "url_invalid"),
        ("references", "parameter_invalid"),
        ("tip", "parameter_unknown"),
    ]
    assert (error["param"], error["code"]) == ("amount", "amount_invalid")
    assert nothing_stored()


@pytest.mark.parametrize(
    "name",
    ["ammount", "Amount", "amount ", "", "a" * 5000, "__class__", "非", "non_field_errors", "detail", "0"],
)
def test_unknown_field_is_rejected_not_dropped(api: Api, order: Order, name: str) -> None:
    error = error_of(api.post(CREATE, order(**{name: "1"})))
    assert error["code"] == "parameter_unknown"
    assert nothing_stored()


def test_an_error_about_no_field_has_no_details(api: Api) -> None:
    error = error_of(api.get(f"{CREATE}/01890000-0000-7000-8000-000000000000"))
    assert (error["code"], error["param"], error["details"]) == ("resource_missing", None, [])


def test_each_code_has_the_status_and_the_type_of_the_contract() -> None:
    table = {
        400: "parameter_missing parameter_invalid parameter_unknown invalid_json amount_invalid amount_not_a_string "
        "amount_too_precise amount_not_positive amount_too_large chain_unknown token_unknown token_not_on_chain "
        "address_invalid url_invalid url_not_allowed transaction_hash_invalid signature_invalid "
        "recipient_not_allowed",
        401: "api_key_missing api_key_invalid api_key_revoked api_key_expired",
        403: "permission_denied",
        404: "resource_missing",
        405: "method_not_allowed",
        409: "payment_request_not_active payment_in_progress route_expired recipient_invalid insufficient_funds "
        "insufficient_gas transaction_would_fail transaction_already_used retry_limit_reached payment_not_retryable "
        "webhook_not_configured",
        413: "request_too_large",
        415: "unsupported_media_type",
        429: "rate_limited too_many_open_payments too_many_payments",
        500: "internal_error",
        503: "node_unavailable routing_unavailable service_unavailable",
    }
    types = {
        401: "authentication_error",
        403: "permission_error",
        429: "rate_limit_error",
        500: "api_error",
        503: "upstream_error",
    }
    for status, codes in table.items():
        for code in codes.split():
            assert status_of(ErrorCode(code)) == status
            assert type_of(ErrorCode(code)) == ErrorType(types.get(status, "invalid_request_error"))
    idempotency = {
        "idempotency_key_invalid": 400,
        "idempotency_key_reused": 400,
        "idempotency_key_in_use": 409,
    }
    for code, status in idempotency.items():
        assert (status_of(ErrorCode(code)), type_of(ErrorCode(code))) == (status, ErrorType.IDEMPOTENCY)


def test_each_conflict_is_either_final_or_temporary() -> None:
    conflicts = {code for code in ErrorCode if status_of(code) == 409}
    assert conflicts == FINAL_CONFLICTS | TEMPORARY_CONFLICTS
    assert not FINAL_CONFLICTS & TEMPORARY_CONFLICTS
    never_stored = {code for code in conflicts if code.endswith("_unavailable")}
    assert (
        never_stored | {ErrorCode.PAYMENT_IN_PROGRESS, ErrorCode.IDEMPOTENCY_KEY_IN_USE}
        <= TEMPORARY_CONFLICTS
    )
