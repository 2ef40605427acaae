"""Strict JSON: ambiguous input is rejected, because a wrong guess could cost money."""

import json
from collections.abc import Mapping
from typing import IO, Any

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from config.api.errors import ApiError, ErrorCode
from config.api.nesting import is_deeper_than

MAX_BODY_BYTES = 64 * 1024
MAX_DEPTH = 20


class StrictJSONParser(BaseParser):
    """Parse a JSON object. A body of more than 64 KiB gets a 413, and invalid JSON gets 400 `invalid_json`."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,  # noqa: ARG002 - the parser interface
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        request = (parser_context or {}).get("request")
        return parse_object(read_capped(stream, request.META.get("CONTENT_LENGTH") if request else None))


def read_capped(stream: IO[Any], declared_length: str | None = None) -> bytes:
    """Return the whole body. Raises ApiError if its declared or real length is over 64 KiB."""
    declares_more = (
        declared_length is not None and declared_length.isdecimal() and int(declared_length) > MAX_BODY_BYTES
    )
    body: bytes = b"" if declares_more else stream.read(MAX_BODY_BYTES + 1)
    if declares_more or len(body) > MAX_BODY_BYTES:
        raise ApiError(
            ErrorCode.REQUEST_TOO_LARGE, "The request body is larger than 64 KiB. Send a smaller one."
        )
    return body


def parse_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in `body`; `{}` if it is empty. Raises ApiError.

    Duplicate keys, NaN, NUL, lone surrogates and deep nesting are rejected.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _invalid("The request body is not valid UTF-8.") from error
    if not text.strip(" \t\r\n"):
        return {}
    if is_deeper_than(MAX_DEPTH, text):
        raise _invalid(f"The request body is nested deeper than {MAX_DEPTH} levels.")
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_reject_constant)
    except json.JSONDecodeError as error:
        raise _invalid(f"The request body is not valid JSON at character {error.pos + 1}.") from error
    except ValueError as error:
        raise _invalid("The request body has a number with thousands of digits.") from error
    if "\\u" in text:  # only escape sequences can hold the characters that `_check` rejects
        _check(value)
    if not isinstance(value, dict):
        raise _invalid("The request body should be a JSON object.")
    return value


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_JSON, message)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _invalid("The request body has the same key twice in one object.")
    return result


def _reject_constant(name: str) -> Any:
    raise _invalid(f"{name} is not JSON.")


def _check(value: Any) -> None:
    """Reject text that PostgreSQL can't store."""
    if isinstance(value, str):
        if "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value):
            raise _invalid("The request body has a NUL character or half of a surrogate pair.")
    elif isinstance(value, dict | list):
        for item in [*value, *value.values()] if isinstance(value, dict) else value:
            _check(item)


class AlwaysJSON(BaseContentNegotiation):
    """Return JSON for any Accept header. Otherwise a request with a wrong Accept header would always get a 406."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        """Return the parser for JSON. For other content types return None, which becomes a 415."""
        content_type = (request.content_type or "").split(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == content_type), None)

    def select_renderer(  # type: ignore[override]
        self,
        request: Request,  # noqa: ARG002 - the negotiation interface
        renderers: list[BaseRenderer],
        format_suffix: str | None = None,  # noqa: ARG002 - the negotiation interface
    ) -> tuple[BaseRenderer, str]:
        return renderers[0], str(renderers[0].media_type)
