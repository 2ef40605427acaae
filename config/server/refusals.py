"""Responses to requests that the server can't read, in the API's error format and with a request ID.

gunicorn would send an HTML page. For an unknown transfer coding, gunicorn would send 501, although the client made the
error.
"""

import json
from http import HTTPStatus
from typing import Any

from config.api.errors import INTERNAL_ERROR, ApiError, ErrorCode
from config.api.handler import error_body
from config.api.request_id import new_request_id, request_id_from

_MESSAGES = {
    414: (ErrorCode.REQUEST_TOO_LARGE, "The request's address is too long."),
    431: (ErrorCode.REQUEST_TOO_LARGE, "The request's headers are too long."),
    500: (ErrorCode.INTERNAL_ERROR, INTERNAL_ERROR),
}
_UNREADABLE = (ErrorCode.PARAMETER_INVALID, "The request is not valid HTTP.")


class ErrorSocket:
    """A client's socket that sends our response in place of gunicorn's error page.

    The response has the status of gunicorn's page, but 400 in place of 501.
    """

    def __init__(self, sock: Any) -> None:
        self._sock = sock

    def sendall(self, page: bytes) -> None:
        status = int(page.split(b" ", 2)[1])
        self._sock.sendall(_response(HTTPStatus(400 if status == 501 else status)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


def _response(status: HTTPStatus) -> bytes:
    with request_id_from("") as request_id:
        body = json.dumps(error_body(ApiError(*_MESSAGES.get(status, _UNREADABLE)))).encode()
    return b"\r\n".join(
        (
            f"HTTP/1.1 {status.value} {status.phrase}".encode(),
            b"Connection: close",
            b"Content-Type: application/json",
            b"Cache-Control: no-store",
            f"X-Request-Id: {request_id}".encode(),
            f"Content-Length: {len(body)}".encode(),
            b"",
            body,
        )
    )


def timeout() -> bytes:
    """Return the response to a request that took too long to arrive."""
    head = (
        "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nX-Request-Id: {}\r\nContent-Length: 0\r\n\r\n"
    )
    return head.format(new_request_id()).encode()
