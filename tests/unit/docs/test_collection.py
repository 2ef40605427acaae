"""The committed collection for Postman and other tools is current, has every call, and contains no secret."""

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.unit.config.api.schema.test_openapi import OPERATIONS, SCHEMA
from website.collection import FILE, text_of

COLLECTION: dict[str, Any] = json.loads(FILE.read_text())


def requests() -> Iterator[dict[str, Any]]:
    for folder in COLLECTION["item"]:
        yield from (item["request"] for item in folder["item"])


def test_committed_collection_is_current() -> None:
    assert FILE.read_text() == text_of(SCHEMA), "run `make collection` and commit the result"


def test_collection_has_each_operation_once() -> None:
    calls = [
        (request["method"], "/" + re.sub(r":(\w+)", r"{\1}", "/".join(request["url"]["path"])))
        for request in requests()
    ]
    assert sorted(calls) == sorted((method.upper(), path) for path, method, _ in OPERATIONS.values())


def test_each_variable_of_an_address_has_a_value() -> None:
    for request in requests():
        named = set(re.findall(r":(\w+)", "/".join(request["url"]["path"])))
        assert named == {each["key"] for each in request["url"].get("variable", ())}, request["url"]["raw"]


def test_only_calls_with_a_key_send_it() -> None:
    for request in requests():
        is_public = request["url"]["raw"].startswith("{{base_url}}/api/public/")
        assert (request.get("auth") == {"type": "noauth"}) == is_public, request["url"]["raw"]


def test_collection_has_no_key_and_no_secret() -> None:
    assert [each for each in COLLECTION["variable"] if each["key"] == "api_key"] == [
        {"key": "api_key", "value": ""}
    ]
    assert not re.search(r"quitt_[0-9a-f]|whsec_\w", FILE.read_text())
