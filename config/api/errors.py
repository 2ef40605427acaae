"""The codes of all API errors, with their HTTP statuses and types."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rest_framework.exceptions import APIException

# The seconds in the Retry-After header during an outage.
RETRY_AFTER_SECONDS = 5
UNKNOWN_PATH = "Unknown path. /api/docs lists all paths; none ends in a slash."
METHOD_NOT_ALLOWED = "Method not allowed. See the Allow header."
UNREADABLE = "The request could not be read. Check its host, headers and query."
INTERNAL_ERROR = "Internal error. Contact support with this request ID."


class ErrorType(StrEnum):
    """The error types. If a client doesn't know an error's code, it can use the type instead."""

    INVALID_REQUEST = "invalid_request_error"
    AUTHENTICATION = "authentication_error"
    PERMISSION = "permission_error"
    IDEMPOTENCY = "idempotency_error"
    RATE_LIMIT = "rate_limit_error"
    UPSTREAM = "upstream_error"
    API = "api_error"


class ErrorCode(StrEnum):
    """The stable, documented codes. Adding a code is compatible; renaming a code breaks clients."""

    PARAMETER_MISSING = "parameter_missing"
    PARAMETER_INVALID = "parameter_invalid"
    PARAMETER_UNKNOWN = "parameter_unknown"
    INVALID_JSON = "invalid_json"
    AMOUNT_INVALID = "amount_invalid"
    AMOUNT_NOT_A_STRING = "amount_not_a_string"
    AMOUNT_TOO_PRECISE = "amount_too_precise"
    AMOUNT_NOT_POSITIVE = "amount_not_positive"
    AMOUNT_TOO_LARGE = "amount_too_large"
    CHAIN_UNKNOWN = "chain_unknown"
    TOKEN_UNKNOWN = "token_unknown"  # noqa: S105 - an error code
    TOKEN_NOT_ON_CHAIN = "token_not_on_chain"  # noqa: S105 - an error code
    ADDRESS_INVALID = "address_invalid"
    URL_INVALID = "url_invalid"
    URL_NOT_ALLOWED = "url_not_allowed"
    TRANSACTION_HASH_INVALID = "transaction_hash_invalid"
    IDEMPOTENCY_KEY_INVALID = "idempotency_key_invalid"
    SIGNATURE_INVALID = "signature_invalid"
    RECIPIENT_NOT_ALLOWED = "recipient_not_allowed"

    API_KEY_MISSING = "api_key_missing"
    API_KEY_INVALID = "api_key_invalid"
    API_KEY_REVOKED = "api_key_revoked"
    API_KEY_EXPIRED = "api_key_expired"
    PERMISSION_DENIED = "permission_denied"

    RESOURCE_MISSING = "resource_missing"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    REQUEST_TOO_LARGE = "request_too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"

    PAYMENT_REQUEST_NOT_ACTIVE = "payment_request_not_active"
    PAYMENT_IN_PROGRESS = "payment_in_progress"
    ROUTE_EXPIRED = "route_expired"
    RECIPIENT_INVALID = "recipient_invalid"
    INSUFFICIENT_FUNDS = "insufficient_funds"
    INSUFFICIENT_GAS = "insufficient_gas"
    TRANSACTION_WOULD_FAIL = "transaction_would_fail"
    TRANSACTION_ALREADY_USED = "transaction_already_used"
    TRANSACTION_NOT_BOUND = "transaction_not_bound"
    RETRY_LIMIT_REACHED = "retry_limit_reached"
    PAYMENT_NOT_RETRYABLE = "payment_not_retryable"
    REFUND_TOO_LARGE = "refund_too_large"
    REFUND_NOT_READY = "refund_not_ready"
    REFUND_NOT_CANCELLABLE = "refund_not_cancellable"
    PAYMENT_REQUEST_ACTIVE = "payment_request_active"
    PAYMENT_REFUNDED = "payment_refunded"
    WEBHOOK_NOT_CONFIGURED = "webhook_not_configured"
    LINK_INACTIVE = "link_inactive"
    DEPOSIT_ADDRESS_UNAVAILABLE = "deposit_address_unavailable"
    SPONSORING_UNAVAILABLE = "sponsoring_unavailable"
    BATCH_UNAVAILABLE = "batch_unavailable"

    IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused"
    IDEMPOTENCY_KEY_IN_USE = "idempotency_key_in_use"

    RATE_LIMITED = "rate_limited"
    TOO_MANY_OPEN_PAYMENTS = "too_many_open_payments"
    TOO_MANY_PAYMENTS = "too_many_payments"

    NODE_UNAVAILABLE = "node_unavailable"
    ROUTING_UNAVAILABLE = "routing_unavailable"
    RATE_UNAVAILABLE = "rate_unavailable"
    SERVICE_UNAVAILABLE = "service_unavailable"
    INTERNAL_ERROR = "internal_error"


_STATUS = {
    ErrorCode.API_KEY_MISSING: 401,
    ErrorCode.API_KEY_INVALID: 401,
    ErrorCode.API_KEY_REVOKED: 401,
    ErrorCode.API_KEY_EXPIRED: 401,
    ErrorCode.PERMISSION_DENIED: 403,
    ErrorCode.RESOURCE_MISSING: 404,
    ErrorCode.METHOD_NOT_ALLOWED: 405,
    ErrorCode.REQUEST_TOO_LARGE: 413,
    ErrorCode.UNSUPPORTED_MEDIA_TYPE: 415,
    ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE: 409,
    ErrorCode.PAYMENT_IN_PROGRESS: 409,
    ErrorCode.ROUTE_EXPIRED: 409,
    ErrorCode.RECIPIENT_INVALID: 409,
    ErrorCode.INSUFFICIENT_FUNDS: 409,
    ErrorCode.INSUFFICIENT_GAS: 409,
    ErrorCode.TRANSACTION_WOULD_FAIL: 409,
    ErrorCode.TRANSACTION_ALREADY_USED: 409,
    ErrorCode.TRANSACTION_NOT_BOUND: 409,
    ErrorCode.RETRY_LIMIT_REACHED: 409,
    ErrorCode.PAYMENT_NOT_RETRYABLE: 409,
    ErrorCode.REFUND_TOO_LARGE: 409,
    ErrorCode.REFUND_NOT_READY: 409,
    ErrorCode.REFUND_NOT_CANCELLABLE: 409,
    ErrorCode.PAYMENT_REQUEST_ACTIVE: 409,
    ErrorCode.PAYMENT_REFUNDED: 409,
    ErrorCode.WEBHOOK_NOT_CONFIGURED: 409,
    ErrorCode.LINK_INACTIVE: 409,
    ErrorCode.DEPOSIT_ADDRESS_UNAVAILABLE: 409,
    ErrorCode.SPONSORING_UNAVAILABLE: 409,
    ErrorCode.BATCH_UNAVAILABLE: 409,
    ErrorCode.IDEMPOTENCY_KEY_IN_USE: 409,
    ErrorCode.RATE_LIMITED: 429,
    ErrorCode.TOO_MANY_OPEN_PAYMENTS: 429,
    ErrorCode.TOO_MANY_PAYMENTS: 429,
    ErrorCode.NODE_UNAVAILABLE: 503,
    ErrorCode.ROUTING_UNAVAILABLE: 503,
    ErrorCode.RATE_UNAVAILABLE: 503,
    ErrorCode.SERVICE_UNAVAILABLE: 503,
    ErrorCode.INTERNAL_ERROR: 500,
}
_TYPE_OF_STATUS = {
    401: ErrorType.AUTHENTICATION,
    403: ErrorType.PERMISSION,
    429: ErrorType.RATE_LIMIT,
    500: ErrorType.API,
    502: ErrorType.UPSTREAM,
    503: ErrorType.UPSTREAM,
}
_IDEMPOTENCY = {
    ErrorCode.IDEMPOTENCY_KEY_INVALID,
    ErrorCode.IDEMPOTENCY_KEY_REUSED,
    ErrorCode.IDEMPOTENCY_KEY_IN_USE,
}
# Each 409 code is in one of these two sets. A final conflict stays forever: a retry with the same Idempotency-Key gets
# the stored error. A temporary conflict can end: the comment beside the code says when. The error of a temporary
# conflict is not stored, so a retry can succeed.
FINAL_CONFLICTS = {
    ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE,  # no request becomes active again
    ErrorCode.TRANSACTION_ALREADY_USED,  # a transfer is credited once
    ErrorCode.RETRY_LIMIT_REACHED,  # the number of retries is never reset
}
TEMPORARY_CONFLICTS = {
    ErrorCode.PAYMENT_IN_PROGRESS,  # until the payment completes or fails
    ErrorCode.ROUTE_EXPIRED,  # until the next call, which gets a new route for the refund
    ErrorCode.RECIPIENT_INVALID,  # until the account changes on the chain, or the merchant allows the recipient
    ErrorCode.INSUFFICIENT_FUNDS,  # until the wallet is funded
    ErrorCode.INSUFFICIENT_GAS,  # until the wallet is funded, or fees fall
    ErrorCode.TRANSACTION_NOT_BOUND,  # until the transaction is in a block, or the sender's wallet signs
    ErrorCode.TRANSACTION_WOULD_FAIL,  # until the chain's state changes
    ErrorCode.PAYMENT_NOT_RETRYABLE,  # until a pending payment fails: then it can be retried or accepted
    ErrorCode.REFUND_TOO_LARGE,  # until another refund is cancelled or fails, or another payment arrives
    ErrorCode.REFUND_NOT_READY,  # until the customer enters an address, or a reorganisation reverses a completed refund
    ErrorCode.REFUND_NOT_CANCELLABLE,  # until the refund's transaction fails
    ErrorCode.PAYMENT_REQUEST_ACTIVE,  # until the request completes, expires or is cancelled
    ErrorCode.PAYMENT_REFUNDED,  # until a refund is cancelled or fails
    ErrorCode.WEBHOOK_NOT_CONFIGURED,  # until a URL is set
    ErrorCode.LINK_INACTIVE,  # until the merchant activates the link, or a part payment of its last request expires
    ErrorCode.BATCH_UNAVAILABLE,  # until a node can trace and simulate
    ErrorCode.SPONSORING_UNAVAILABLE,  # until the next day, or until the paying wallet has coins for the fees
    ErrorCode.DEPOSIT_ADDRESS_UNAVAILABLE,  # until the merchant enables deposit addresses, or the factory is deployed
    ErrorCode.IDEMPOTENCY_KEY_IN_USE,  # until the first call ends
}


def status_of(code: ErrorCode) -> int:
    """Return the HTTP status of `code`; 400 by default."""
    return _STATUS.get(code, 400)


def type_of(code: ErrorCode) -> ErrorType:
    if code in _IDEMPOTENCY:
        return ErrorType.IDEMPOTENCY
    return _TYPE_OF_STATUS.get(status_of(code), ErrorType.INVALID_REQUEST)


@dataclass(frozen=True)
class Problem:
    """One invalid field: the problem and how to fix it."""

    code: ErrorCode
    message: str
    param: str | None = None

    def as_json(self) -> dict[str, str | None]:
        return {"param": self.param, "code": self.code.value, "message": self.message}


class ApiError(APIException):
    """An error response. Services and views raise it, and `config.api.handler` renders it.

    `retry_after` is in seconds and becomes the Retry-After header. A 503 always has this header.
    """

    is_intended = False
    """Whether an operator caused the error on purpose. Such a 5xx is not logged as an error."""

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        param: str | None = None,
        *,
        problems: Sequence[Problem] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message, code.value)
        self.problems = list(problems) or [Problem(code, message, param)]
        self.status_code = status_of(code)
        self.error_type = type_of(code)
        self.is_final = code in FINAL_CONFLICTS
        if retry_after is None and self.status_code == 503:
            retry_after = RETRY_AFTER_SECONDS
        self.retry_after = retry_after

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> "ApiError":
        """Return one error for all invalid fields, with the code, message and field of the first problem."""
        first = problems[0]
        return cls(first.code, first.message, first.param, problems=problems)
