"""What the server itself answers to a request that it can't read: the API's error shape, with a request ID.

gunicorn writes a page, and 501 for a transfer coding that it doesn't know. No input of a client is an error of ours.
"""

import json
from http import HTTPStatus
from typing import Any

from config.api.errors import ApiError, ErrorCode
from config.api.handler import error_body
from config.api.request_id import new_request_id, request_id_from

_MESSAGES = {
    414: (ErrorCode.REQUEST_TOO_LARGE, "The request's address is too long."),
    431: (ErrorCode.REQUEST_TOO_LARGE, "The request's headers are too long."),
    500: (ErrorCode.INTERNAL_ERROR, "Something went wrong on our side."),
}
_UNREADABLE = (ErrorCode.PARAMETER_INVALID, "The request could not be read. It breaks the rules of HTTP.")


class InOurShape:
    """A client's socket for gunicorn's error page: sends our own response with the page's status instead."""

    def __init__(self, sock: Any) -> None:
        self._sock = sock

    def sendall(self, page: bytes) -> None:
        """Send the response that takes the page's place."""
        status = int(page.split(b" ", 2)[1])
        self._sock.sendall(refusal(HTTPStatus(400 if status == 501 else status)))

    def __getattr__(self, name: str) -> Any:
        """Be the socket in all else."""
        return getattr(self._sock, name)


def refusal(status: HTTPStatus) -> bytes:
    """Return the whole response of this status, after which the connection is closed."""
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
