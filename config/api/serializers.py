"""A strict base serializer and strict fields.

The serializers reject unknown fields, control characters, and strings in place of numbers.
"""

import re
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cached_property
from typing import Any, NoReturn

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty
from rest_framework.request import Request

from config.api.errors import ErrorCode

# Control characters, surrogates, and characters that reorder text. With them, a name could look like another name.
_CONTROLS = r"\x00-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069"
# Direction marks. Arabic and Hebrew texts need them, but they could make a name look like another name.
_MARKS = r"\u061c\u200e\u200f"
_UNSAFE = re.compile(f"[{_CONTROLS}{_MARKS}]")
_NOT_TEXT = re.compile(f"[{_CONTROLS}]")
_LINES = re.compile(r"[\t\n\r]+")

_MAX_UNKNOWN_NAMED = 100
_kept = threading.local()


class StrictSerializer(serializers.Serializer[Any]):
    """A serializer that rejects unknown fields, so that a typo is reported."""

    @classmethod
    def read(cls, data: Any, **context: Any) -> dict[str, Any]:
        """Return the validated data. Raises ValidationError.

        Each thread reuses one instance, because a new instance copies all fields.
        """
        kept: dict[Any, StrictSerializer] = _kept.__dict__
        serializer = kept.get(cls)
        if serializer is None:
            serializer = kept[cls] = cls()
        serializer._context = context
        validated: dict[str, Any] = serializer.run_validation(data)
        return validated

    def to_internal_value(self, data: Any) -> Any:
        """Validate all fields. Report all invalid and unknown fields in one error."""
        if not isinstance(data, Mapping):
            return super().to_internal_value(data)  # raises the error
        values: dict[str, Any] = {}
        errors: dict[str, Any] = {}
        for name, (field, may_be_left_out, check) in self._inputs.items():
            # Omitted fields are skipped, because DRF takes long to validate them.
            if name in data or not may_be_left_out:
                try:
                    value = field.run_validation(data.get(name, empty))
                    values[name] = value if check is None else check(value)
                except serializers.ValidationError as error:
                    errors[name] = error.detail
        unknown = [str(name) for name in data if name not in self._inputs]
        for name in unknown[:_MAX_UNKNOWN_NAMED]:
            message = f"{name[:80]!r} is not a parameter of this call."
            for meant in get_close_matches(name[:80], list(self.fields), 1):
                message += f" Did you mean {meant!r}?"
            errors[name[:80]] = [serializers.ErrorDetail(message, ErrorCode.PARAMETER_UNKNOWN.value)]
        if errors:
            raise serializers.ValidationError(errors)
        return values

    @cached_property
    def _inputs(self) -> dict[str, tuple[Any, bool, Callable[[Any], Any] | None]]:
        """By name: the field, whether it is optional and has no default, and the method `validate_<name>`, if any."""
        return {
            name: (
                field,
                not field.required and field.default is empty,
                getattr(self, f"validate_{name}", None),
            )
            for name, field in self.fields.items()
        }


def has_unsafe_characters(text: str) -> bool:
    """Whether `text` holds control characters, surrogates, or characters that change the direction of writing."""
    return _UNSAFE.search(text) is not None


def one_line(text: str) -> str:
    """Replace line breaks and tabs by spaces."""
    return _LINES.sub(" ", text)


def kind_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    kinds = {str: "a string", int: "a number", float: "a number", dict: "an object", list: "an array"}
    return kinds.get(type(value), "something else")


def invalid(message: str, code: ErrorCode = ErrorCode.PARAMETER_INVALID) -> serializers.ValidationError:
    """Return the error of one field. The message names the problem and the expected value."""
    return serializers.ValidationError(message, code.value)


class TextField(serializers.CharField):
    """A string that is kept exactly as sent. Control characters and characters that reorder text are rejected.

    The error code of an invalid string is `code`. For other JSON types, it is `parameter_invalid`. `has_lines` allows
    line breaks and tabs.
    """

    default_error_messages = {"blank": "This should not be empty."}

    def __init__(
        self, *, code: ErrorCode = ErrorCode.PARAMETER_INVALID, has_lines: bool = False, **options: Any
    ) -> None:
        self.code = code
        self.has_lines = has_lines
        options.setdefault("trim_whitespace", False)
        super().__init__(**options)

    def fail(self, key: str, **values: Any) -> NoReturn:
        if key == "blank":
            raise invalid(str(self.error_messages[key]), self.code)
        super().fail(key, **values)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            raise invalid(f"This should be a string; got {kind_of(data)}.")
        if _NOT_TEXT.search(one_line(data) if self.has_lines else data):
            raise invalid("Control and bidirectional-override characters are not accepted.", self.code)
        if self.max_length is not None and len(data) > self.max_length:
            message = f"This should have at most {self.max_length:,} characters; got {len(data):,}."
            raise invalid(message, self.code)
        return data

    def run_validators(self, value: Any) -> None:
        """Do nothing: `to_internal_value` checks the length and the characters.

        DRF's validators stay on the field, because drf-spectacular reads the maximum length from them.
        """


@extend_schema_field({"type": "string", "format": "uri", "maxLength": 2048})
class UrlField(TextField):
    """An absolute URL. Subclasses check it further."""

    default_error_messages = {"blank": "The URL should be an absolute https address; got an empty string."}

    def __init__(self, **options: Any) -> None:
        super().__init__(code=ErrorCode.URL_INVALID, **options)


class OneOfField(serializers.ChoiceField):
    def to_internal_value(self, data: Any) -> str:
        if isinstance(data, str) and data in self.choices:
            return data
        got = repr(data[:64]) if isinstance(data, str) else kind_of(data)
        raise invalid(f"This should be one of {', '.join(map(str, self.choices))}; got {got}.")


class WholeNumberField(serializers.IntegerField):
    """A JSON integer. Strings, booleans and fractions are rejected."""

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, bool) or not isinstance(data, int):
            got = "a fraction" if isinstance(data, float) else kind_of(data)
            raise invalid(f"This should be a whole number{self._range()}; got {got}.")
        if not self._is_in_range(data):
            got = str(data) if abs(data) < 10**20 else "a number far out of range"
            raise invalid(f"This should be a whole number{self._range()}; got {got}.")
        return data

    def _is_in_range(self, number: int) -> bool:
        above = self.min_value is None or number >= self.min_value
        return above and (self.max_value is None or number <= self.max_value)

    def _range(self) -> str:
        if self.min_value is None or self.max_value is None:
            return ""
        return f" from {self.min_value} to {self.max_value}"


class TrueOrFalseField(serializers.BooleanField):
    """A JSON boolean. Strings and numbers are rejected."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            raise invalid(f"This should be true or false; got {kind_of(data)}.")
        return data


def timestamp(time: datetime | None) -> str | None:
    """Return `time` in RFC 3339 in UTC, such as 2026-01-31T12:00:00Z. Return None for None."""
    return required_timestamp(time) if time else None


def required_timestamp(time: datetime) -> str:
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def demand_no_parameters(request: Request) -> None:
    """Reject the call if its body has any parameter."""
    StrictSerializer(data=request.data).is_valid(raise_exception=True)
