"""The API rejects malformed keys sent over the network. The server raises no error of its own."""

import json
import socket

import pytest

from tests.support.api.served import Service

pytestmark = pytest.mark.django_db(transaction=True)

KEY = b"quitt_" + b"0123456789abcdef" * 2 + b"01234567"
MALFORMED = {
    "a short key": b"Authorization: Bearer abc",
    "UTF-8": "X-API-Key: quitt_äöü€".encode(),
    "Latin-1": b"X-API-Key: quitt_\xe4\xff",
    "broken UTF-8 as bearer": b"Authorization: Bearer \xc3\x28\xf0",
    "a tab": b"X-API-Key: quitt_\tabc",
}
ODD_BODIES = {
    "an unknown transfer coding": b"Transfer-Encoding: gzip, chunked",
    "two lengths": b"Content-Length: 2\r\nContent-Length: 3",
    "an unknown expectation": b"Expect: the-unexpected",
}
UNREADABLE = {
    "a NUL": b"X-API-Key: quitt_\x00",
    "an escape": b"X-API-Key: \x1b[31m",
    "a bare line feed": b"X-API-Key: quitt_\nX-Other: 1",
    "one beyond all limits": b"X-API-Key: quitt_" + b"0" * 100_000,
}


def ask(service: Service, header: bytes) -> tuple[int, bytes]:
    """Return the status and body of the response to this header."""
    lines, body = ask_for_all(service, header)
    return int(lines.split(b" ", 2)[1]), body


def ask_for_all(service: Service, header: bytes) -> tuple[bytes, bytes]:
    """Return the head and body of the response to this header."""
    port = int(service.url.rsplit(":", 1)[1])
    head = b"GET /api/payment-requests HTTP/1.1\r\nHost: testserver\r\nConnection: close\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(head + header + b"\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    lines, _, body = answer.partition(b"\r\n\r\n")
    return lines, body


@pytest.mark.parametrize("what", MALFORMED)
def test_what_is_no_key_is_401(service: Service, what: str) -> None:
    status, body = ask(service, MALFORMED[what])
    error = json.loads(body)["error"]
    assert (status, error["type"], error["code"]) == (401, "authentication_error", "api_key_missing")


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_is_no_header_is_a_bad_request(service: Service, what: str) -> None:
    try:
        status, body = ask(service, UNREADABLE[what])
    except ConnectionResetError:  # closed before the response arrived
        return
    assert 400 <= status < 500
    assert KEY not in body
    assert ask(service, MALFORMED["a short key"])[0] == 401


@pytest.mark.parametrize("header", [*ODD_BODIES.values(), UNREADABLE["a NUL"]], ids=[*ODD_BODIES, "a NUL"])
def test_server_errors_have_the_shape_of_api_errors(service: Service, header: bytes) -> None:
    lines, body = ask_for_all(service, header)
    error = json.loads(body)["error"]
    assert 400 <= int(lines.split(b" ", 2)[1]) < 500
    assert (error["type"], error["code"]) == ("invalid_request_error", "parameter_invalid")
    assert f"X-Request-Id: {error['request_id']}".encode() in lines
