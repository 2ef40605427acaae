"""Valid JSON that no call accepts is rejected with its first error. Nothing changes."""

from typing import Any

import pytest
from django.urls import resolve

from merchants.models import Merchant
from tests.support.api.belongings import belongings
from tests.support.api.corpora import lines_of, row_counts
from tests.support.api.fixtures import Raw, error_of
from tests.unit.merchants.keys.test_access import ENDPOINTS

BODIES = [(*heading, *line.split(" ", 2)) for heading, line in lines_of("bodies.txt")]


@pytest.fixture
def things(merchant: Merchant) -> dict[str, str]:
    return {name: str(value) for name, value in belongings(merchant).items()}


def filled(text: str, things: dict[str, str]) -> str:
    for name, value in things.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def test_the_table_holds_enough_and_each_call_that_takes_a_body(things: dict[str, str]) -> None:
    assert len(set(BODIES)) == len(BODIES) >= 50
    in_table = {(method, "/" + resolve(filled(path, things)).route) for method, path, *_ in BODIES}
    assert in_table == {(method, path) for method, path in ENDPOINTS if method != "GET"}


def test_no_wrong_body_is_taken(raw: Raw, things: dict[str, str]) -> None:
    before = row_counts()
    for method, path, code, param, body in BODIES:
        response = raw(filled(body, things).encode(), method=method, path=filled(path, things))
        error = error_of(response)
        assert (response.status_code, error["code"], error["param"]) == (400, code, param), (path, body)
    assert row_counts() == before


def test_no_body_that_is_no_json_is_taken(raw: Raw, things: dict[str, str]) -> None:
    before = row_counts()
    public = ("POST", "/api/public/build-transaction")
    for method, path in {public} | {(method, path) for method, path, *_ in BODIES}:
        for body in (b"{", b"[]", b'{"a": 1, "a": 1}'):  # the complete table is in test_nesting.py
            response = raw(body, method=method, path=filled(path, things))
            assert (response.status_code, error_of(response)["code"]) == (400, "invalid_json"), (path, body)
    assert row_counts() == before


def test_each_message_says_what_would_be_right(raw: Raw, things: dict[str, str]) -> None:
    def messages(body: str, path: str = "/api/payment-requests", method: str = "POST") -> dict[str, Any]:
        details = error_of(raw(filled(body, things).encode(), method=method, path=path))["details"]
        return {detail["param"]: detail["message"] for detail in details}

    said = messages(
        '{"amount": 10, "token_id": "1", "chain_id": 8453, "recipient_address": "", "external_id": "'
        + "x" * 300
        + '", "redirect_url": "", "metadata": {"a": 1, "b": null}, "expires_in": 5, "references": 1, "tip": 1,'
        '"cancelurl": 1}'
    )
    assert said == {
        "amount": 'The amount should be a string such as "10.50".',
        "token_id": "This should be a whole number; got a string.",
        "recipient_address": "This should be an address; got an empty string.",
        "external_id": "This should have at most 255 characters; got 300.",
        "redirect_url": "The URL should be an absolute https address; got an empty string.",
        "metadata.a": "This should be a string; got a number.",
        "metadata.b": "This should be a string; got null.",
        "expires_in": "This should be a whole number from 60 to 2592000; got 5.",
        "references": "This should be true or false; got a number.",
        "tip": "'tip' is not a parameter of this call.",
        "cancelurl": "'cancelurl' is not a parameter of this call. Did you mean 'cancel_url'?",
    }
    assert messages('{"url": null, "enabled_events": ["all"]}', "/api/webhooks", "PUT") == {
        "enabled_events.0": "This should be one of payment.succeeded, payment.failed, payment.expired, "
        "payment.partially_paid, payment.overpaid, payment.reorged, refund.completed, refund.failed; got 'all'."
    }


def test_null_equals_absent_for_an_optional_field(raw: Raw, things: dict[str, str]) -> None:
    names = (
        "external_id",
        "redirect_url",
        "cancel_url",
        "description",
        "metadata",
        "expires_in",
        "webhook_url",
    )
    needed = (
        '"amount": "1", "token_id": {token}, "chain_id": 8453,'
        ' "recipient_address": "0x8ba1f109551bD432803012645Ac136ddd64DBA72"'
    )
    nulls = "".join(f', "{name}": null' for name in (*names, "references"))
    left_out = raw(filled("{" + needed + "}", things).encode())
    null = raw(filled("{" + needed + nulls + "}", things).encode())
    assert (left_out.status_code, null.status_code) == (201, 201)
    own = {"id", "shortcode", "payment_url", "created_at", "expires_at"}
    first, second = ({k: v for k, v in r.json().items() if k not in own} for r in (left_out, null))
    assert first == second
