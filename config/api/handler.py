"""Convert every exception to the API's error shape."""

import logging
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import DataError
from django.http import Http404, HttpRequest, JsonResponse
from django.utils.log import log_response
from rest_framework import exceptions
from rest_framework.response import Response

from config.api.errors import INTERNAL_ERROR, METHOD_NOT_ALLOWED, UNREADABLE, ApiError, ErrorCode, Problem
from config.api.objects import ObjectMissing
from config.api.request_id import current_request_id
from config.database.outages import is_outage

logger = logging.getLogger(__name__)

_OWN_CODES = {code.value for code in ErrorCode}
# If the connection is lost during the COMMIT, the service can't know whether PostgreSQL stored the changes.
_DATABASE_UNAVAILABLE = (
    "Service temporarily unavailable. Try again in a few seconds. A call that changes something may have taken effect: "
    "repeat it with the same Idempotency-Key, or read the object first."
)
_MISSING = {"required": "{} is required.", "null": "{} is required; got null."}


def exception_handler(exception: Exception, context: dict[str, Any]) -> Response:
    """Return the response for an exception of an API view. An unexpected exception is logged, and gives a bare 500."""
    error = as_api_error(exception)
    if error.status_code == 500:
        logger.error("unhandled error", exc_info=exception)
    response = Response(error_body(error), status=error.status_code)
    if error.is_intended:
        # Django would log this 5xx as an error. But it logs no response twice, so log this one first, at the level
        # "info".
        log_response("%s", error.problems[0].message, response=response, logger=logger, level="info")
    if error.status_code == 401:
        response["WWW-Authenticate"] = 'ApiKey realm="api", Bearer realm="api"'
    if error.retry_after is not None:
        response["Retry-After"] = str(error.retry_after)
    if isinstance(exception, exceptions.MethodNotAllowed):
        view = context.get("view")
        response["Allow"] = ", ".join(view.allowed_methods) if view else ""
    return response


def error_body(error: ApiError) -> dict[str, Any]:
    first = error.problems[0]
    return {
        "error": {
            "type": error.error_type.value,
            "code": first.code.value,
            "message": first.message,
            "param": first.param,
            "request_id": current_request_id(),
            "details": [problem.as_json() for problem in error.problems if problem.param is not None],
        }
    }


def as_api_error(exception: BaseException | None) -> ApiError:
    match exception:
        case ApiError():
            return exception
        case exceptions.ValidationError():
            return ApiError.of(list(_problems(exception.detail, "")))
        case ObjectMissing():
            return ApiError(ErrorCode.RESOURCE_MISSING, str(exception))
        case Http404() | exceptions.NotFound():
            return ApiError(ErrorCode.RESOURCE_MISSING, "No object has this id.")
        case exceptions.MethodNotAllowed():
            return ApiError(ErrorCode.METHOD_NOT_ALLOWED, METHOD_NOT_ALLOWED)
        case exceptions.UnsupportedMediaType():
            return ApiError(ErrorCode.UNSUPPORTED_MEDIA_TYPE, "Send the body as application/json.")
        case exceptions.NotAuthenticated():
            return ApiError(ErrorCode.API_KEY_MISSING, "Send your API key in the X-API-Key header.")
        case PermissionDenied() | exceptions.PermissionDenied():
            return ApiError(ErrorCode.PERMISSION_DENIED, "This API key lacks the permission for this call.")
        case SuspiciousOperation():  # for example, the query string has thousands of parameters
            return ApiError(ErrorCode.PARAMETER_INVALID, UNREADABLE)
        case exceptions.ParseError():
            return ApiError(ErrorCode.INVALID_JSON, "The request body could not be read.")
        case DataError() if "NUL" in str(exception):
            # The id in the path contains NUL. PostgreSQL can't store NUL in a text, so no object has this id.
            return ApiError(ErrorCode.RESOURCE_MISSING, "No object has this id.")
        case _ if is_outage(exception):
            logger.warning("database unavailable", exc_info=exception)
            return ApiError(ErrorCode.SERVICE_UNAVAILABLE, _DATABASE_UNAVAILABLE)
    return ApiError(ErrorCode.INTERNAL_ERROR, INTERNAL_ERROR)


def _problems(detail: Any, path: str) -> Iterator[Problem]:
    """Flatten DRF's nested errors into a list of problems, in the order of the fields."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            own = path if name == "non_field_errors" else f"{path}.{name}" if path else str(name)
            yield from _problems(inner, own)
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            yield from _problems(
                inner, f"{path}[{index}]" if isinstance(inner, dict | list) and inner else path
            )
    else:
        code = getattr(detail, "code", "invalid")
        if code in _OWN_CODES:
            yield Problem(ErrorCode(code), str(detail), path or None)
        elif code in _MISSING:
            yield Problem(ErrorCode.PARAMETER_MISSING, _MISSING[code].format(path), path or None)
        else:
            yield Problem(ErrorCode.PARAMETER_INVALID, str(detail), path or None)


def json_error(error: ApiError) -> JsonResponse:
    """Return `error` as a plain Django response. DRF can't render errors outside its views."""
    response = JsonResponse(error_body(error), status=error.status_code)
    if error.retry_after is not None:
        response["Retry-After"] = str(error.retry_after)
    return response


def is_api_path(request: HttpRequest) -> bool:
    """Return whether the caller expects JSON."""
    return request.path == "/api" or request.path.startswith("/api/")
