"""CORS: any origin may call `/api/public/*` without credentials, and no other path."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

_PUBLIC = "/api/public/"


class PublicCorsMiddleware:
    """Respond to preflights of the public API, and allow any origin to read its responses."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(_PUBLIC):
            return self.get_response(request)
        if request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
            response = HttpResponse(status=204)
            response["Access-Control-Allow-Methods"] = "GET, POST, OPTIONS"
            response["Access-Control-Allow-Headers"] = "Content-Type, If-None-Match, X-Request-Id"
            response["Access-Control-Max-Age"] = "86400"
        else:
            response = self.get_response(request)
        response["Access-Control-Allow-Origin"] = "*"
        response["Access-Control-Expose-Headers"] = "ETag, Retry-After, X-Request-Id"
        return response
