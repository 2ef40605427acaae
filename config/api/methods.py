"""Refuse other methods than GET and HEAD on read-only pages."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from config.api.errors import ApiError, ErrorCode
from config.api.handler import is_api_path, json_error

View = Callable[..., HttpResponse]


def only_read(view: View) -> View:
    """Let `view` answer GET and HEAD; any other method gets a 405, not a demand for a form's token."""

    @wraps(view)
    def answer(request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponse:
        if request.method in ("GET", "HEAD"):
            return view(request, *arguments, **named)
        if is_api_path(request):
            message = "This path does not answer that method."
            response: HttpResponse = json_error(ApiError(ErrorCode.METHOD_NOT_ALLOWED, message))
        else:
            response = HttpResponse("There is nothing to do here but to read.\n", "text/plain", 405)
        response["Allow"] = "GET, HEAD"
        return response

    return csrf_exempt(answer)
