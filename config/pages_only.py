"""Middleware that pages need and calls of the API don't: sessions, forms' tokens, messages, static files."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

from config.api.handler import is_api_path

Answer = Callable[[HttpRequest], HttpResponse]


class PagesOnlyMiddleware:
    """Pass requests for pages through `settings.PAGES_MIDDLEWARE`, and calls of the API past it."""

    def __init__(self, get_response: Answer) -> None:
        self._api: Answer = get_response
        self._pages: Any = get_response
        self._views: list[Callable[..., HttpResponse | None]] = []
        for path in reversed(settings.PAGES_MIDDLEWARE):
            middleware = import_string(path)(self._pages)
            if hasattr(middleware, "process_view"):
                self._views.insert(0, middleware.process_view)
            self._pages = convert_exception_to_response(middleware)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer: HttpResponse = self._api(request) if is_api_path(request) else self._pages(request)
        return answer

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], arguments: Any, names: Any
    ) -> HttpResponse | None:
        """Return what stops a page: a form without its token, say."""
        if is_api_path(request):
            return None
        answers = (process(request, view, arguments, names) for process in self._views)
        return next((answer for answer in answers if answer is not None), None)
