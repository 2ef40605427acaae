"""A call ends at its deadline and reads no more than necessary. Only the status line decides about success."""

import socket
import ssl
import time
from collections.abc import Callable

import pytest

from tests.support.webhooks.raw_server import RawServer, dribble, raw_server, read_request
from tests.support.webhooks.receiver import Receiver, answer
from webhooks.dispatch.http_client import Answer, Rules, post

OPEN = Rules(allow_http=True, allow_private=True)
DEADLINE = 0.6
SLACK = 0.5


def call(url: str, *, body: bytes = b"{}", deadline: float = DEADLINE) -> Answer:
    started = time.monotonic()
    result = post(url, body, {"Content-Type": "application/json"}, rules=OPEN, deadline=deadline)
    assert time.monotonic() - started < deadline + SLACK
    return result


def silence(connection: socket.socket, server: RawServer) -> None:
    server.stopping.wait(10)


def slow_status_line(connection: socket.socket, server: RawServer) -> None:
    read_request(connection)
    dribble(connection, server, b"H", b"T")


def slow_headers(connection: socket.socket, server: RawServer) -> None:
    read_request(connection)
    dribble(connection, server, b"HTTP/1.1 500 Oh\r\n", b"X: 1\r\n")


def endless_interim_answers(connection: socket.socket, server: RawServer) -> None:
    read_request(connection)
    dribble(connection, server, b"", b"HTTP/1.1 100 Continue\r\n\r\n")


@pytest.mark.parametrize("behave", [silence, slow_status_line, endless_interim_answers])
def test_silent_receiver_is_cut_off_at_the_deadline(behave: Callable[..., None]) -> None:
    with raw_server(behave) as server:
        result = call(server.url)
    assert result.status_code is None
    assert result.error == "No response within 0.6 seconds."
    assert result.duration_ms >= 600


def test_a_deadline_covers_the_tls_handshake() -> None:
    with raw_server(silence) as server:
        result = call(server.url.replace("http:", "https:"))
    assert result.error == "No response within 0.6 seconds."


def test_a_deadline_covers_headers_that_never_end() -> None:
    with raw_server(slow_headers) as server:
        result = call(server.url)
    assert (result.status_code, result.is_success) == (500, False)


def test_a_2xx_status_line_is_success_though_the_body_never_ends() -> None:
    def slow_body(connection: socket.socket, server: RawServer) -> None:
        read_request(connection)
        dribble(connection, server, b"HTTP/1.1 202 Fine\r\nContent-Length: 99999\r\n\r\n", b"x")

    with raw_server(slow_body) as server:
        result = call(server.url)
    assert result.is_success
    assert result.error == ""
    assert result.excerpt.startswith("xxx")


def test_2xx_before_a_broken_connection_is_success() -> None:
    def broken(connection: socket.socket, server: RawServer) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Le")

    with raw_server(broken) as server:
        assert call(server.url).is_success


def test_at_most_16_kib_of_a_response_are_read() -> None:
    sent = 0

    def endless(connection: socket.socket, server: RawServer) -> None:
        nonlocal sent
        read_request(connection)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while not server.stopping.is_set():
            sent += connection.send(b"y" * 4096)

    with raw_server(endless) as server:
        result = call(server.url, deadline=5)
    assert result.is_success
    assert result.duration_ms < 2000
    assert result.excerpt == "y" * 1024
    assert sent < 16 * 1024 * 1024  # only as much as the sockets' buffers hold


def test_interim_response_is_not_the_final_one() -> None:
    def hints(connection: socket.socket, server: RawServer) -> None:
        read_request(connection)
        connection.sendall(
            b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 201 Made\r\nContent-Length: 0\r\n\r\n"
        )

    with raw_server(hints) as server:
        assert call(server.url).status_code == 201


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (b"", "closed before a response"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "not HTTP"),
        (b"\x00" * 100, "not HTTP"),
    ],
)
def test_what_is_not_http_is_a_failure(sent: bytes, error: str) -> None:
    def other(connection: socket.socket, server: RawServer) -> None:
        read_request(connection)
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):  # close() with unread data would reset the connection
            pass

    with raw_server(other) as server:
        result = call(server.url)
    assert result.status_code is None
    assert error in result.error


def test_closed_port_is_a_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    result = call(f"http://127.0.0.1:{port}/")
    assert (result.status_code, result.error) == (None, "The connection was refused.")


def test_status_counts_although_the_body_was_not_read() -> None:
    def hasty(connection: socket.socket, server: RawServer) -> None:
        connection.recv(100)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        read_request(connection)

    with raw_server(hasty) as server:
        assert call(server.url, body=b"x" * 60_000).is_success


def test_a_name_that_does_not_resolve_is_a_failure() -> None:
    result = call("http://nowhere.invalid/", deadline=5)
    assert (result.status_code, result.error) == (None, "The host name does not resolve.")


def test_the_excerpt_can_be_stored_whatever_it_holds(receiver: Receiver) -> None:
    receiver.answers = [answer(200, b"a\x00b\xff" + b"c" * 2000)]
    assert call(receiver.url).excerpt == "a\ufffdb\ufffd" + "c" * 1020


def test_compressed_response_stays_compressed(receiver: Receiver) -> None:
    receiver.answers = [answer(200, b"not gzip", Content_Encoding="gzip")]
    assert call(receiver.url).excerpt == "not gzip"


def test_untrusted_certificate_is_rejected_before_sending(
    self_signed: "ssl.SSLContext",
) -> None:
    seen: list[bytes] = []

    def serve(connection: socket.socket, server: RawServer) -> None:
        with self_signed.wrap_socket(connection, server_side=True) as secured:
            seen.append(secured.recv(100))

    with raw_server(serve) as server:
        result = call(server.url.replace("http:", "https:"))
    assert "certificate" in result.error
    assert seen == []


def test_proxies_of_the_environment_are_not_used(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert call(receiver.url).is_success
