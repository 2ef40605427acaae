"""Responses for unknown paths, and for errors outside the API's views."""

import sys

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.defaults import bad_request, page_not_found, permission_denied

from config.api.errors import INTERNAL_ERROR, UNKNOWN_PATH, UNREADABLE, ApiError, ErrorCode
from config.api.handler import as_api_error, is_api_path, json_error
from config.database.outages import is_outage
from config.pages import broken_page


@csrf_exempt
def unknown_path(request: HttpRequest, **_: str) -> JsonResponse:  # noqa: ARG001 - the view interface
    return json_error(ApiError(ErrorCode.RESOURCE_MISSING, UNKNOWN_PATH))


def handle_400(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Respond to a request that Django rejects, such as one with a wrong Host header."""
    if is_api_path(request):
        return json_error(ApiError(ErrorCode.PARAMETER_INVALID, UNREADABLE))
    return bad_request(request, exception)


def handle_403(request: HttpRequest, exception: Exception) -> HttpResponse:
    if is_api_path(request):
        return json_error(ApiError(ErrorCode.PERMISSION_DENIED, "This call is not allowed."))
    return permission_denied(request, exception)


def handle_404(request: HttpRequest, exception: Exception) -> HttpResponse:
    return unknown_path(request) if is_api_path(request) else page_not_found(request, exception)


def handle_500(request: HttpRequest) -> HttpResponse:
    exception = sys.exc_info()[1]
    if is_api_path(request):
        unknown = ApiError(ErrorCode.INTERNAL_ERROR, INTERNAL_ERROR)
        return json_error(as_api_error(exception) if is_outage(exception) else unknown)
    return broken_page(request)
