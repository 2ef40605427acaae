"""Malformed and extreme JSON is rejected. It is neither corrected nor stored."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from config.api.nesting import is_deeper_than
from payments.models import PaymentRequest
from tests.support.api.fixtures import Raw, error_of, nothing_stored


def nested(levels: int, opening: str = "[", closing: str = "]") -> bytes:
    """Return an object with a nested `metadata`. The whole object has `levels` levels."""
    return ('{"metadata": ' + opening * (levels - 1) + closing * (levels - 1) + "}").encode()


BODIES: list[bytes] = [
    # incomplete, or accepted only by tolerant parsers
    b"{", b'{"amount": "1"', b"{'amount': '1'}", b'{"amount": "1",}', b'{"a": 01}', b'{"a": 1} // why',
    b'{"a": 1}x', b"{}{}", b'{"a": "line\nbreak"}', b"amount=1&token_id=2",
    # values that JSON doesn't count as numbers
    b'{"a": NaN}', b'{"a": Infinity}', b'{"a": -Infinity}', b'{"metadata": {"a": NaN}}',
    # JSON other than an object
    b"[]", b"[{}]", b'"text"', b"7", b"true", b"null",
    # one name twice
    b'{"amount": "1", "amount": "2"}', b'{"a": 1, "a": 1}', b'{"metadata": {"a": "1", "a": "1"}}',
    b'{"a": 1, "\\u0061": 2}', b'[{"a": 1, "a": 2}]',
    # NUL and unpaired surrogates
    b'{"a": "\\u0000"}', b'{"\\u0000": 1}', b'{"a": {"b": "x\\u0000y"}}', b'{"a": "\x00"}', b'{}\x00',
    b'{"a": "\\ud800"}', b'{"a": "\\udc00\\ud800"}', b'{"\\ud83d": 1}', b'{"a": "\\ud83d\\u0041"}',
    b'{"a": "\xed\xa0\x80"}',
    # bytes that aren't UTF-8, and byte order marks
    b'{"a": "\xff"}', b'{"a": "\xc0\x80"}', b'\xef\xbb\xbf{"a": 1}', '{"a": 1}'.encode("utf-16"),
    '{"a": "é"}'.encode("latin-1"), "\u00a0{}".encode(), b"\x0b{}", b"\x1f\x8b\x08\x00",
    # depth and length
    nested(21), nested(30_000), nested(21, '{"a":', "}").replace(b'"a":}', b'"a":1}'), b'{"a":' * 12_000,
    b'{"a": ' + b"9" * 5000 + b"}", b'{"a": "' + b"[" * 60_000,
]  # fmt: skip


def test_malformed_body_is_rejected_as_invalid_json(raw: Raw) -> None:
    for body in BODIES:
        response = raw(body)
        error = error_of(response)
        found = response.status_code, error["type"], error["code"]
        assert found == (400, "invalid_request_error", "invalid_json"), body[:50]
    assert nothing_stored()


@pytest.mark.parametrize(
    "body",
    [
        nested(20),
        b'{"metadata": {"a": "' + b"[{" * 100 + b'"}}',
        b'{"metadata": {"a": "\\"[[[[[[[[[[[[[[[[[[[[[[[[["}}',
    ],
    ids=range(3),
)
def test_twenty_levels_and_brackets_in_text_are_well_formed(raw: Raw, body: bytes) -> None:
    assert error_of(raw(body))["code"] == "parameter_missing"


def test_number_beyond_float_range_is_invalid_not_infinity(raw: Raw) -> None:
    error = error_of(raw(b'{"amount": 1e999, "token_id": 1e999, "chain_id": 1E400, "expires_in": 1e-999}'))
    codes = {detail["param"]: detail["code"] for detail in error["details"]}
    assert codes["amount"] == "amount_not_a_string"
    assert codes["token_id"] == codes["chain_id"] == codes["expires_in"] == "parameter_invalid"
    assert nothing_stored()


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**100, -1, 0, int("9" * 4000)])
def test_a_whole_number_of_any_size_is_no_chain_and_no_token(
    raw: Raw, order: Callable[..., dict[str, Any]], number: int
) -> None:
    error = error_of(raw(json.dumps(order(chain_id=number, token_id=number)).encode()))
    assert {detail["code"] for detail in error["details"]} == {"chain_unknown", "token_unknown"}
    assert nothing_stored()


def test_text_in_any_script_is_kept_to_the_letter(raw: Raw, order: Callable[..., dict[str, Any]]) -> None:
    description = "Кофе ☕ 💎 e\u0301 \u2028 <b>&amp;"
    response = raw(json.dumps(order(description=description), ensure_ascii=False).encode())
    assert response.json()["description"] == PaymentRequest.objects.get().description == description


@pytest.mark.parametrize(
    ("text", "deeper"),
    [
        ("[" * 3, False), ("[" * 4, True), ("[[[]]]" * 50, False), ('{"a":[{"b":[', True),
        ('"[[[[[["', False), ('["[[[["]', False),
        (r'["\"[[[["]', False), (r'["\\", [[["', True), ('"[[[[', False), ("]]]][[[[", False), ("", False),
        ("\\" * 9 + "[[[[", True),
    ],
)  # fmt: skip
def test_depth_is_counted_outside_of_strings(text: str, deeper: bool) -> None:
    assert is_deeper_than(3, text) == deeper
