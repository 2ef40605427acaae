"""A connection to a receiver is kept for the next delivery. If it was closed meanwhile, a new one is made."""

import socket
import ssl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.support.webhooks.raw_server import RawServer, raw_server, read_request
from webhooks.dispatch.connections import MAX_IDLE_PER_RECEIVER, Connection, Kept, PlainSocket
from webhooks.dispatch.http_client import Rules, post

RULES = Rules(allow_http=True, allow_private=True)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def call(server: RawServer, deadline: float = 5) -> int | None:
    return post(server.url, b"{}", {}, rules=RULES, deadline=deadline).status_code


def read_whole(connection: socket.socket) -> bool:
    """Read one request with its body of two bytes. False if the client has disconnected."""
    seen = b""
    while not seen.endswith(b"\r\n\r\n{}"):
        came = connection.recv(65536)
        if not came:
            return False
        seen += came
    return True


def test_one_connection_serves_call_after_call() -> None:
    def behave(connection: socket.socket, server: RawServer) -> None:
        while read_whole(connection):
            connection.sendall(OK)

    with raw_server(behave) as server:
        assert [call(server) for _ in range(5)] == [200] * 5
        assert server.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + b"x" * 100_000,
        OK + b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok",
    ],
    ids=["close", "HTTP/1.0", "no length", "over the cap", "more than asked", "less than told"],
)
def test_a_connection_whose_end_is_not_certain_is_not_kept(answer: bytes) -> None:
    def behave(connection: socket.socket, server: RawServer) -> None:
        if read_whole(connection):
            connection.sendall(answer)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(65536)

    with raw_server(behave) as server:
        assert [call(server), call(server)] == [200, 200]
        assert server.connections == 2


def test_connection_upgraded_from_http_is_not_reused() -> None:
    def behave(connection: socket.socket, server: RawServer) -> None:
        while read_whole(connection):
            connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: chat\r\n\r\n")

    with raw_server(behave) as server:
        assert [call(server), call(server)] == [101, 101]
        assert server.connections == 2


def test_closed_kept_connection_is_replaced_without_failure() -> None:
    def behave(connection: socket.socket, server: RawServer) -> None:
        if read_whole(connection):
            connection.sendall(OK)
            read_request(connection)  # then it disconnects

    with raw_server(behave) as server:
        assert [call(server), call(server)] == [200, 200]
        assert server.connections == 2


def test_broken_new_connection_fails_without_another_try() -> None:
    def behave(connection: socket.socket, server: RawServer) -> None:
        read_request(connection)

    with raw_server(behave) as server:
        assert call(server) is None
        assert server.connections == 1


def test_each_call_over_a_kept_connection_has_its_own_deadline() -> None:
    def behave(connection: socket.socket, server: RawServer) -> None:
        while read_whole(connection):
            if server.stopping.wait(0.4):
                return
            connection.sendall(OK)

    with raw_server(behave) as server:
        assert [call(server, deadline=1) for _ in range(4)] == [200] * 4
        assert call(server, deadline=0.2) is None


def test_tls_connections_are_kept_too(self_signed: ssl.SSLContext) -> None:
    connections = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            connections.append(self.client_address)
            super().setup()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.socket = self_signed.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    trusting = ssl.create_default_context()
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    try:
        url = f"https://127.0.0.1:{server.server_port}/"
        for _ in range(3):
            assert post(url, b"{}", {}, rules=RULES, tls=trusting).status_code == 200
        assert len(connections) == 1
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_no_more_than_a_few_are_kept_for_one_receiver() -> None:
    kept = Kept()
    pairs = [socket.socketpair() for _ in range(MAX_IDLE_PER_RECEIVER + 2)]
    connections = [Connection(PlainSocket(ours.family, ours.type, fileno=ours.detach())) for ours, _ in pairs]
    for connection in connections:
        kept.keep(("shop",), connection)
    closed = [connection.sock.fileno() == -1 for connection in connections]
    assert closed == [True, True] + [False] * MAX_IDLE_PER_RECEIVER
    assert kept.take(("elsewhere",)) is None
    assert kept.take(("shop",)) is connections[-1]
    kept.close()
    connections[-1].close()
    for _, theirs in pairs:
        theirs.close()
