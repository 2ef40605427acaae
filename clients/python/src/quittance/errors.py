"""The exceptions of this package. None of them contains the API key."""

from typing import Any


class QuittanceError(Exception):
    """The base of all errors of this package.

    Use `code`, the API's error code (`amount_too_precise`, ...), in your program. `message` is for people, and may
    change. `param` is the invalid field, and `details` lists all invalid fields. `status` is the HTTP status.
    `retry_after` is the number of seconds to wait. Mention the `request_id` if you contact the service's operators.
    Fields that don't apply are None.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        type: str | None = None,
        param: str | None = None,
        request_id: str | None = None,
        details: list[dict[str, Any]] | None = None,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)  # pass only the message; with other arguments, pickling would fail
        self.message = message
        self.code = code
        self.type = type
        self.param = param
        self.request_id = request_id
        self.details = details or []
        self.status = status
        self.retry_after = retry_after

    def __str__(self) -> str:
        """Return the message with the invalid field, the code and the request ID."""
        named = ": ".join(filter(None, (self.code, self.param, self.message)))
        others = ", ".join(str(each.get("param")) for each in self.details[1:])
        also = f" Also at fault: {others}." if others else ""
        return f"{named}{also}" + (f" (request {self.request_id})" if self.request_id else "")


class InvalidRequestError(QuittanceError):
    """The call is invalid (400, 404, 405, 409, 413, 415). A retry would fail again."""


class AuthenticationError(QuittanceError):
    """The API key is missing, unknown, revoked or expired (401)."""


class PermissionDeniedError(QuittanceError):
    """The key lacks a permission (403). The message names the permission."""


class IdempotencyError(QuittanceError):
    """The idempotency key was used for another call (400), or its first call is still running (409)."""


class RateLimitError(QuittanceError):
    """Too many calls (429), even after the retries."""


class UpstreamError(QuittanceError):
    """The service can't reach a node, a routing provider or its database (502, 503)."""


class APIError(QuittanceError):
    """An internal error of the service (500), or a response that is not Quittance's."""


class APIConnectionError(QuittanceError):
    """There was no response.

    So it is unknown whether the call took effect. A retry with the same `idempotency_key` is safe. If `never_sent` is
    True, the connection failed and the call had no effect.
    """

    def __init__(self, message: str, *, never_sent: bool = False) -> None:
        super().__init__(message)
        self.never_sent = never_sent


class SignatureVerificationError(QuittanceError, ValueError):
    """The delivery can't be trusted. Respond with 400, and do nothing else."""


BY_TYPE: dict[str, type[QuittanceError]] = {
    "invalid_request_error": InvalidRequestError,
    "authentication_error": AuthenticationError,
    "permission_error": PermissionDeniedError,
    "idempotency_error": IdempotencyError,
    "rate_limit_error": RateLimitError,
    "upstream_error": UpstreamError,
    "api_error": APIError,
}
"""The exception class for each error `type` of the API."""
