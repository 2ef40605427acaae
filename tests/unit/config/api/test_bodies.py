"""A body is JSON of at most 64 KiB.

Other types get 415, larger bodies 413. An empty body of any type counts as {}.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from payments.models import PaymentRequest
from tests.support.api.fixtures import Raw, error_of, nothing_stored

Order = Callable[..., dict[str, Any]]
LIMIT = 64 * 1024


def padded(order: dict[str, Any], length: int) -> bytes:
    """Return the order as JSON with exactly this number of bytes."""
    body = json.dumps(order).encode()
    return body + b" " * (length - len(body))


@pytest.mark.parametrize(
    "content_type",
    ["application/json; charset=utf-8", "APPLICATION/JSON", " application/json ", "application/json;"],
)
def test_json_is_taken_however_its_type_is_written(raw: Raw, order: Order, content_type: str) -> None:
    assert raw(json.dumps(order()).encode(), content_type=content_type).status_code == 201


def test_any_other_type_is_415_and_stores_nothing(raw: Raw, order: Order) -> None:
    types = [
        "text/plain", "multipart/form-data; boundary=x", "application/jsonp", "*/*", "application/json, text/plain",
        "text/html; application/json", "", "é", "application/json\x00",
    ]  # fmt: skip
    for content_type in types:
        response = raw(json.dumps(order()).encode(), content_type=content_type)
        assert (response.status_code, error_of(response)["code"]) == (415, "unsupported_media_type"), (
            content_type
        )
        assert nothing_stored()


@pytest.mark.parametrize("length", [LIMIT + 1, 3 * 1024 * 1024])
def test_a_body_over_64_kib_is_413_and_stores_nothing(raw: Raw, order: Order, length: int) -> None:
    response = raw(padded(order(), length))
    assert (response.status_code, error_of(response)["code"]) == (413, "request_too_large")
    assert nothing_stored()


def test_a_body_of_exactly_64_kib_is_taken(raw: Raw, order: Order) -> None:
    assert raw(padded(order(), LIMIT)).status_code == 201
    assert PaymentRequest.objects.count() == 1


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "",
        "nonsense",
    ],
)
def test_an_empty_body_is_an_empty_object_whatever_its_type(raw: Raw, content_type: str) -> None:
    error = error_of(raw(b"", content_type=content_type))
    assert [detail["code"] for detail in error["details"]] == ["parameter_missing"] * 4
    assert nothing_stored()


@pytest.mark.parametrize(
    "accept",
    ["text/html", "application/xml", "*/*", "nonsense", "application/json; version=9", "image/*;q=0"],
)
def test_response_is_json_whatever_accept_says(raw: Raw, order: Order, accept: str) -> None:
    created = raw(json.dumps(order()).encode(), Accept=accept)
    assert (created.status_code, created["Content-Type"]) == (201, "application/json")
    error_of(raw(b"{", Accept=accept))
