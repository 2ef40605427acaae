"""Reject methods other than GET and HEAD on read-only pages."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from config.api.errors import METHOD_NOT_ALLOWED, ApiError, ErrorCode
from config.api.handler import is_api_path, json_error

View = Callable[..., HttpResponse]


def only_read(view: View) -> View:
    """Restrict `view` to GET and HEAD. Other methods get a 405, not a CSRF error."""

    @wraps(view)
    def respond(request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponse:
        if request.method in ("GET", "HEAD"):
            return view(request, *arguments, **named)
        if is_api_path(request):
            error = ApiError(ErrorCode.METHOD_NOT_ALLOWED, METHOD_NOT_ALLOWED)
            response: HttpResponse = json_error(error)
        else:
            response = HttpResponse(f"{METHOD_NOT_ALLOWED}\n", "text/plain", 405)
        response["Allow"] = "GET, HEAD"
        return response

    return csrf_exempt(respond)
