"""One id for each request: in the response, in errors, and in every log line."""

import logging
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.http import HttpRequest, HttpResponse

from config.api.log_context import log_context, logged_ids
from config.tracing.recording import traced

logger = logging.getLogger(__name__)

_current: ContextVar[str] = ContextVar("request_id", default="-")
_SANE = re.compile(r"[A-Za-z0-9._:-]{1,128}")
# Reads are not part of a payment request's trace, because the many reads of polling checkouts would hide the changes.
_READING = frozenset(("GET", "HEAD", "OPTIONS"))


def current_request_id() -> str:
    """Return the id of the current request, or `-` outside one."""
    return _current.get()


def new_request_id() -> str:
    return "req_" + secrets.token_hex(12)


@contextmanager
def request_id_from(given: str) -> Iterator[str]:
    """Set the id of the current request: the caller's id, `given`, if it is valid, or else a new id."""
    request_id = given if _SANE.fullmatch(given) else new_request_id()
    token = _current.set(request_id)
    try:
        yield request_id
    finally:
        _current.reset(token)


class RequestIdMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began = time.monotonic()
        given = request.headers.get("X-Request-Id", "")
        joins = request.method not in _READING
        with request_id_from(given) as request_id, log_context(), traced("request", "server", joins=joins):
            response = self.get_response(request)
            took = (time.monotonic() - began) * 1000
            # The query string isn't logged, because it may contain private data.
            logger.info("%s %s %s %.0f ms", request.method, request.path[:200], response.status_code, took)
        response["X-Request-Id"] = request_id
        return response


class RequestIdFilter(logging.Filter):
    """Add the current request's id and the ids of `log_context` to each log record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = current_request_id()
        record.ids = dict(logged_ids())
        return True
