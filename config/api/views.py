"""Responses for unknown paths, and for errors outside the API's views."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.defaults import bad_request, page_not_found, permission_denied

from config.api.errors import UNKNOWN_PATH, ApiError, ErrorCode
from config.api.handler import is_api_path, json_error
from config.pages import broken_page


@csrf_exempt
def unknown_path(request: HttpRequest, **_: str) -> JsonResponse:  # noqa: ARG001 - the view interface
    """Answer 404 in the error shape for any unknown path under /api."""
    return json_error(ApiError(ErrorCode.RESOURCE_MISSING, UNKNOWN_PATH))


def handle_400(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer what Django itself refuses (a wrong Host header, say)."""
    if is_api_path(request):
        return json_error(ApiError(ErrorCode.PARAMETER_INVALID, "The request could not be read."))
    return bad_request(request, exception)


def handle_403(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a refusal outside the API's views."""
    if is_api_path(request):
        return json_error(ApiError(ErrorCode.PERMISSION_DENIED, "That is not allowed."))
    return permission_denied(request, exception)


def handle_404(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer an unknown path."""
    return unknown_path(request) if is_api_path(request) else page_not_found(request, exception)


def handle_500(request: HttpRequest) -> HttpResponse:
    """Answer an error that no view caught, without showing what it was."""
    if is_api_path(request):
        return json_error(ApiError(ErrorCode.INTERNAL_ERROR, "Something went wrong on our side."))
    return broken_page(request)
