"""The fields and the base serializer that keep bad input out: unknown fields, controls, loose types (contract 1)."""

import unicodedata
from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from config.api.errors import ErrorCode

# Characters that reorder the text around them: a name could read as another name.
_BIDIRECTIONAL = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class StrictSerializer(serializers.Serializer[Any]):
    """A serializer that refuses fields it does not know: a typo would otherwise be dropped without a word."""

    def to_internal_value(self, data: Any) -> Any:
        """Validate all fields, then report the failed ones and the unknown ones together."""
        unknown = [str(name) for name in data if name not in self.fields] if isinstance(data, Mapping) else []
        errors: dict[str, Any] = {}
        value: Any = None
        try:
            value = super().to_internal_value(data)
        except serializers.ValidationError as error:
            if not isinstance(error.detail, dict):
                raise
            errors.update(error.detail)
        for name in unknown:
            message = f"{name[:80]!r} is not a parameter of this call."
            errors[name[:80]] = [serializers.ErrorDetail(message, ErrorCode.PARAMETER_UNKNOWN.value)]
        if errors:
            raise serializers.ValidationError(errors)
        return value


def has_unsafe_characters(text: str) -> bool:
    """Whether `text` holds control characters, surrogates or bidirectional overrides."""
    return any(c in _BIDIRECTIONAL or unicodedata.category(c) in ("Cc", "Cs") for c in text)


class TextField(serializers.CharField):
    """Text kept exactly as sent: no trimming, no control or bidirectional-override characters, strings only."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("trim_whitespace", False)
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> str:
        """Return the text unchanged, or refuse it."""
        if not isinstance(data, str):
            raise serializers.ValidationError("This should be a string.", ErrorCode.PARAMETER_INVALID.value)
        if has_unsafe_characters(data):
            message = "Control and bidirectional-override characters are not accepted."
            raise serializers.ValidationError(message, ErrorCode.PARAMETER_INVALID.value)
        return super().to_internal_value(data)


class WholeNumberField(serializers.IntegerField):
    """A JSON integer: no string, no boolean, no fraction."""

    def to_internal_value(self, data: Any) -> int:
        """Return the integer, or refuse what only looks like one."""
        if isinstance(data, bool) or not isinstance(data, int):
            raise serializers.ValidationError(
                "This should be a whole number.", ErrorCode.PARAMETER_INVALID.value
            )
        return super().to_internal_value(data)


class TrueOrFalseField(serializers.BooleanField):
    """A JSON true or false, not a word that resembles one."""

    def to_internal_value(self, data: Any) -> bool:
        """Return the boolean, or refuse anything else."""
        if not isinstance(data, bool):
            raise serializers.ValidationError(
                "This should be true or false.", ErrorCode.PARAMETER_INVALID.value
            )
        return data
