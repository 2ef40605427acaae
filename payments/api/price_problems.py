"""Check a new request's amount, price and lifetime together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rest_framework.serializers import ErrorDetail

from config.api.errors import ErrorCode, Problem
from payments.requests.creation import MAX_PRICED_LIFETIME

_MAX_PRICED_SECONDS = int(MAX_PRICED_LIFETIME.total_seconds())


def error_detail(code: ErrorCode, message: str) -> ErrorDetail:
    return ErrorDetail(message, code.value)


@dataclass(frozen=True)
class Alternatives:
    """Parameters of which a body must have exactly one, such as `amount` and `price`. `none` is the error message for
    a body that has none of them, `several` for a body that has more than one.
    """

    names: tuple[str, ...]
    none: str
    several: str

    def sent(self, data: Any) -> list[str]:
        """Return the names of the parameters that the body has. A null value doesn't count."""
        return [name for name in self.names if isinstance(data, Mapping) and data.get(name) is not None]

    def problems(self, sent: Sequence[str], lifetime: int | None) -> list[Problem]:
        """Check that one of the parameters was sent. If the body has a price, also check the lifetime in seconds."""
        if not sent:
            return [Problem(ErrorCode.PARAMETER_MISSING, self.none, "amount")]
        if sent == ["price"] and lifetime is not None and lifetime > _MAX_PRICED_SECONDS:
            message = f"A request with a price can be paid for at most {_MAX_PRICED_SECONDS} seconds; got {lifetime}."
            return [Problem(ErrorCode.PARAMETER_INVALID, message, "expires_in")]
        return []

    def with_several_first(self, problems: Mapping[str, Any], sent: Sequence[str]) -> dict[str, Any]:
        """Return the problems, and put the message `several` first.

        The message's key is the last parameter in `sent`. That parameter's other problems come directly after the
        message.
        """
        rest, last = dict(problems), sent[-1]
        own = rest.pop(last, [])
        several = error_detail(ErrorCode.PARAMETER_INVALID, self.several)
        if isinstance(own, dict):
            return {last: [several], **{f"{last}.{name}": inner for name, inner in own.items()}, **rest}
        return {last: [several, *own], **rest}
