"""Set `Cache-Control: no-store` on API responses."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from config.api.handler import is_api_path


class NoStoreMiddleware:
    """Set `no-store` on API responses, except successful reads whose view sets Cache-Control."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_reading = request.method in ("GET", "HEAD", "OPTIONS") and response.status_code < 400
        if is_api_path(request) and not (is_reading and response.has_header("Cache-Control")):
            response["Cache-Control"] = "no-store"
        return response
