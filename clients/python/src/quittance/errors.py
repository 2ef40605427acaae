"""The exceptions of this package. None of them holds the API key."""

from typing import Any


class QuittanceError(Exception):
    """The base of all errors of this package.

    `code` is the API's own (`amount_too_precise`, ...): branch on it. `message` is for people and may change.
    `param` names the field at fault, `details` every failed field, `status` is the HTTP status, and `request_id` is
    what the service's operators ask for. What does not apply is None (`details` empty). `retry_after` is how many
    seconds the service asked to wait.
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
        super().__init__(message)  # the message alone, so that pickling works
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
    """The call is invalid (400, 404, 405, 409, 413, 415). A retry fails again."""


class AuthenticationError(QuittanceError):
    """The API key is missing, unknown, revoked or expired (401)."""


class PermissionDeniedError(QuittanceError):
    """The key lacks the permission that the message names (403)."""


class IdempotencyError(QuittanceError):
    """The idempotency key was used for another call (400), or its first call is still running (409)."""


class RateLimitError(QuittanceError):
    """Too many calls (429), and still too many after the retries."""


class UpstreamError(QuittanceError):
    """A node, a routing provider or the database does not answer the service (502, 503)."""


class APIError(QuittanceError):
    """A fault of the service (500), or an answer that no Quittance service gives."""


class APIConnectionError(QuittanceError):
    """No answer came. Whether the call was carried out is not known; the retries were safe, and so is one more
    with the same `idempotency_key`.

    `never_sent` says that no connection came about, so that certainly nothing was done.
    """

    def __init__(self, message: str, *, never_sent: bool = False) -> None:
        super().__init__(message)
        self.never_sent = never_sent


class SignatureVerificationError(QuittanceError, ValueError):
    """A delivery is not to be believed: answer 400 and do nothing else."""


BY_TYPE: dict[str, type[QuittanceError]] = {
    "invalid_request_error": InvalidRequestError,
    "authentication_error": AuthenticationError,
    "permission_error": PermissionDeniedError,
    "idempotency_error": IdempotencyError,
    "rate_limit_error": RateLimitError,
    "upstream_error": UpstreamError,
    "api_error": APIError,
}
"""The class of each `type` that the API names."""
