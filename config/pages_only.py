"""Run some middleware only for pages, not for API calls: sessions, CSRF tokens, messages, static files."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

from config.api.handler import is_api_path

GetResponse = Callable[[HttpRequest], HttpResponse]


class PagesOnlyMiddleware:
    """Run `settings.PAGES_MIDDLEWARE` for pages only."""

    def __init__(self, get_response: GetResponse) -> None:
        self._api: GetResponse = get_response
        self._pages: Any = get_response
        self._views: list[Callable[..., HttpResponse | None]] = []
        for path in reversed(settings.PAGES_MIDDLEWARE):
            middleware = import_string(path)(self._pages)
            if hasattr(middleware, "process_view"):
                self._views.insert(0, middleware.process_view)
            self._pages = convert_exception_to_response(middleware)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response: HttpResponse = self._api(request) if is_api_path(request) else self._pages(request)
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], arguments: Any, names: Any
    ) -> HttpResponse | None:
        """Return the response of the first middleware that rejects the request, such as for a missing CSRF token."""
        if is_api_path(request):
            return None
        responses = (process(request, view, arguments, names) for process in self._views)
        return next((response for response in responses if response is not None), None)
