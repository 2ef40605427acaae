"""Describe errors in the OpenAPI document."""

import json
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from config.api.errors import ErrorCode, ErrorType, status_of, type_of

MEANINGS = {
    ErrorCode.PARAMETER_MISSING: "A required parameter is missing or null.",
    ErrorCode.PARAMETER_INVALID: "A parameter has a wrong type, format or length.",
    ErrorCode.PARAMETER_UNKNOWN: "The call has no such parameter.",
    ErrorCode.INVALID_JSON: "The body is not a JSON object in UTF-8, names a key twice, or nests over 20 levels.",
    ErrorCode.AMOUNT_INVALID: "The amount is not a plain decimal number such as 12.50.",
    ErrorCode.AMOUNT_NOT_A_STRING: "The amount is not a JSON string.",
    ErrorCode.AMOUNT_TOO_PRECISE: "The amount has more fraction digits than the token.",
    ErrorCode.AMOUNT_NOT_POSITIVE: "The amount is zero.",
    ErrorCode.AMOUNT_TOO_LARGE: "The amount exceeds the chain's maximum.",
    ErrorCode.CHAIN_UNKNOWN: "The chain is unknown or inactive.",
    ErrorCode.TOKEN_UNKNOWN: "The token is unknown or inactive.",
    ErrorCode.TOKEN_NOT_ON_CHAIN: "The token is on another chain.",
    ErrorCode.ADDRESS_INVALID: "The address is not valid on this chain, or must not receive payments.",
    ErrorCode.URL_INVALID: "The URL is not an absolute https URL, is too long, or contains credentials.",
    ErrorCode.URL_NOT_ALLOWED: "The webhook URL resolves to a private address, or has a port that is not allowed.",
    ErrorCode.TRANSACTION_HASH_INVALID: "The hash is not a transaction hash of this chain.",
    ErrorCode.IDEMPOTENCY_KEY_INVALID: "The idempotency key is empty, over 255 characters, or not printable ASCII.",
    ErrorCode.IDEMPOTENCY_KEY_REUSED: "The idempotency key was used with another path or body.",
    ErrorCode.IDEMPOTENCY_KEY_IN_USE: "The first call with this idempotency key is still running.",
    ErrorCode.RECIPIENT_NOT_ALLOWED: "The recipient is not one of the merchant's allowed recipients.",
    ErrorCode.SIGNATURE_INVALID: "The signature is not the wallet's signature of the message.",
    ErrorCode.API_KEY_MISSING: "No API key was sent, or it is malformed.",
    ErrorCode.API_KEY_INVALID: "The API key is unknown, or two different keys were sent.",
    ErrorCode.API_KEY_REVOKED: "The API key was revoked.",
    ErrorCode.API_KEY_EXPIRED: "The API key has expired.",
    ErrorCode.PERMISSION_DENIED: "The API key lacks the permission that the message names.",
    ErrorCode.RESOURCE_MISSING: "The object or path doesn't exist, or belongs to another merchant.",
    ErrorCode.METHOD_NOT_ALLOWED: "Method not allowed. See the Allow header.",
    ErrorCode.REQUEST_TOO_LARGE: "The body is over 64 KiB.",
    ErrorCode.UNSUPPORTED_MEDIA_TYPE: "The body is not application/json.",
    ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE: "The payment request is completed, expired or cancelled.",
    ErrorCode.PAYMENT_IN_PROGRESS: "A payment is in progress. Wait until it completes or fails.",
    ErrorCode.ROUTE_EXPIRED: "The route has expired, or the remaining amount has changed. Request routes again.",
    ErrorCode.RECIPIENT_INVALID: "The recipient can't be paid, or another merchant used this recipient first.",
    ErrorCode.INSUFFICIENT_FUNDS: "The wallet doesn't have enough of the token.",
    ErrorCode.INSUFFICIENT_GAS: "The wallet doesn't have enough native coin for the network fee.",
    ErrorCode.TRANSACTION_WOULD_FAIL: "The simulation of the transaction failed.",
    ErrorCode.TRANSACTION_ALREADY_USED: (
        "All of the transaction's transfers to this recipient are already credited, or bound in another way."
    ),
    ErrorCode.TRANSACTION_NOT_BOUND: "The transaction contains no transfer that this wallet can prove.",
    ErrorCode.RETRY_LIMIT_REACHED: "The payment was retried 3 times, or the delivery was attempted 100 times.",
    ErrorCode.PAYMENT_NOT_RETRYABLE: "The payment did not fail, or its failure can't change.",
    ErrorCode.REFUND_TOO_LARGE: "The amount exceeds the refundable amount, or the request has 100 refunds.",
    ErrorCode.REFUND_NOT_READY: "The refund has no address, its address can't change, or it is completed or cancelled.",
    ErrorCode.REFUND_NOT_CANCELLABLE: "A transaction of the refund is in progress, or the refund is completed.",
    ErrorCode.PAYMENT_REQUEST_ACTIVE: "The payment request is still active. Cancel it before you refund it.",
    ErrorCode.PAYMENT_REFUNDED: "Refunds keep the request from being paid in full.",
    ErrorCode.WEBHOOK_NOT_CONFIGURED: "No webhook URL is set.",
    ErrorCode.SPONSORING_UNAVAILABLE: "The network fee can't be paid for this customer. Use the other direct route.",
    ErrorCode.BATCH_UNAVAILABLE: "The wallet's batch can't be verified or simulated. Send the approval first.",
    ErrorCode.DEPOSIT_ADDRESS_UNAVAILABLE: "The request has no deposit address; the message says why.",
    ErrorCode.LINK_INACTIVE: "The payment link is inactive, has expired, or has reached its maximum of payments.",
    ErrorCode.RATE_LIMITED: "Too many calls. Try again after Retry-After seconds.",
    ErrorCode.TOO_MANY_OPEN_PAYMENTS: "5 payments from this client for this request are still being verified.",
    ErrorCode.TOO_MANY_PAYMENTS: "The request has reached its maximum of publicly submitted transactions.",
    ErrorCode.NODE_UNAVAILABLE: "No node of the chain sent a usable response.",
    ErrorCode.ROUTING_UNAVAILABLE: "No routing provider sent a usable response, or swaps are switched off.",
    ErrorCode.RATE_UNAVAILABLE: "No two sources agree on a fresh exchange rate, or prices are switched off.",
    ErrorCode.SERVICE_UNAVAILABLE: (
        "Service temporarily unavailable. If the database failed, a call that changes something may have taken effect: "
        "repeat it with the same Idempotency-Key, or read the object first."
    ),
    ErrorCode.INTERNAL_ERROR: "Internal error. Contact the operator with the request ID.",
}

CREDENTIALS = (
    ErrorCode.API_KEY_MISSING,
    ErrorCode.API_KEY_INVALID,
    ErrorCode.API_KEY_REVOKED,
    ErrorCode.API_KEY_EXPIRED,
)
PARAMETERS = (ErrorCode.PARAMETER_MISSING, ErrorCode.PARAMETER_INVALID, ErrorCode.PARAMETER_UNKNOWN)
BODY = (ErrorCode.INVALID_JSON, ErrorCode.REQUEST_TOO_LARGE, ErrorCode.UNSUPPORTED_MEDIA_TYPE)
IDEMPOTENCY = (
    ErrorCode.IDEMPOTENCY_KEY_INVALID,
    ErrorCode.IDEMPOTENCY_KEY_REUSED,
    ErrorCode.IDEMPOTENCY_KEY_IN_USE,
)
ANYWHERE = (ErrorCode.RATE_LIMITED, ErrorCode.INTERNAL_ERROR, ErrorCode.SERVICE_UNAVAILABLE)

_CODE = {"$ref": "#/components/schemas/ErrorCode"}
_PARAM = {
    "type": ["string", "null"],
    "description": (
        "The invalid parameter, such as `amount` or `metadata.colour`; null if the error is not about a "
        "parameter."
    ),
    "examples": ["amount"],
}
_MESSAGE = {
    "type": "string",
    "description": "The cause and the next step, for people. The wording can change.",
    "examples": ["USDC has 6 decimals; got 7 fraction digits."],
}

COMPONENTS: dict[str, dict[str, Any]] = {
    "ErrorType": {
        "type": "string",
        "enum": [type_.value for type_ in ErrorType],
        "description": "The kind of error. Branch on it if you don't know the `code`.",
    },
    "ErrorCode": {
        "type": "string",
        "enum": [code.value for code in ErrorCode],
        "description": (
            "The error as a code, for programs. Codes are never renamed; new codes can be added."
        ),
    },
    "ErrorDetail": {
        "type": "object",
        "description": "An invalid parameter.",
        "properties": {"param": _PARAM, "code": _CODE, "message": _MESSAGE},
        "required": ["param", "code", "message"],
    },
}

_TYPE = {"$ref": "#/components/schemas/ErrorType"}


def _error(type_: dict[str, Any], code: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an error. `type_` and `code` are the schemas of the fields with these names."""
    fields = {
        "type": type_,
        "code": code,
        "message": _MESSAGE,
        "param": _PARAM,
        "request_id": {
            "type": "string",
            "description": "The id of this call, as in the X-Request-Id header. Give it to support.",
            "examples": ["req_706b20db2473d2414fe53271"],
        },
        "details": {
            "type": "array",
            "items": {"$ref": "#/components/schemas/ErrorDetail"},
            "description": "All invalid parameters; empty if the error is not about a parameter.",
        },
    }
    inner = {
        "type": "object",
        "description": "The error: the first of the `details`, if there are any.",
        "properties": fields,
        "required": [*fields],
    }
    description = "The body of every error."
    return {
        "type": "object",
        "description": description,
        "properties": {"error": inner},
        "required": ["error"],
    }


COMPONENTS["Error"] = _error(_TYPE, _CODE)

_MIN_SHARED = 3  # a response that this many operations share becomes a component
_HEADERS = {401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}


def error_responses(codes: Iterable[ErrorCode]) -> dict[str, dict[str, Any]]:
    """Return one response per HTTP status. Each response's description lists the codes of its status."""
    by_status: dict[int, list[ErrorCode]] = {}
    for code in ErrorCode:  # in the order of declaration
        if code in codes:
            by_status.setdefault(status_of(code), []).append(code)
    return {str(status): _response(status, by_status[status]) for status in sorted(by_status)}


def shared(paths: dict[str, Any]) -> dict[str, Any]:
    """Move error responses that several operations share out of `paths`. Return them by name."""
    places: dict[str, list[tuple[dict[str, Any], str]]] = {}
    for operations in paths.values():
        for operation in operations.values():
            for status, response in operation["responses"].items():
                if status >= "400":
                    places.setdefault(json.dumps(response), []).append((operation["responses"], status))
    found: dict[str, Any] = {}
    for text, where in places.items():
        if len(where) < _MIN_SHARED:
            continue
        phrase = HTTPStatus(int(where[0][1])).phrase.title().replace(" ", "")
        name = (
            phrase if phrase not in found else f"{phrase}{sum(each.startswith(phrase) for each in found) + 1}"
        )
        found[name] = json.loads(text)
        for responses, status in where:
            responses[status] = {"$ref": f"#/components/responses/{name}"}
    return found


def _response(status: int, codes: list[ErrorCode]) -> dict[str, Any]:
    lines = [f"- `{code.value}`: {MEANINGS[code]}" for code in codes]
    types = list(dict.fromkeys(type_of(code).value for code in codes))
    schema = _error(
        {"type": "string", "enum": types, "description": COMPONENTS["ErrorType"]["description"]},
        {
            "type": "string",
            "enum": [code.value for code in codes],
            "description": "The error as a code, for programs.",
        },
    )
    response: dict[str, Any] = {
        "description": f"{HTTPStatus(status).phrase}.\n\n" + "\n".join(lines),
        "content": {"application/json": {"schema": schema}},
    }
    if status in _HEADERS:
        name = _HEADERS[status]
        response["headers"] = {name: {"$ref": f"#/components/headers/{name}"}}
    return response
