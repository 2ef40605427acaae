"""Receivers that try to block a worker. They run in a separate process, so that the worker's memory can be measured.

`python -m tests.integration.webhooks.hostile_receivers` prints {behaviour: port} and serves until its input
ends.
"""

import gzip
import json
import os
import socket
import struct
import sys
from contextlib import ExitStack

from tests.support.webhooks.raw_server import Behaviour, RawServer, dribble, raw_server, read_request

BOMB_BYTES = 200_000_000


def silent(connection: socket.socket, server: RawServer) -> None:
    server.stopping.wait(30)


def slow_headers(connection: socket.socket, server: RawServer) -> None:
    read_request(connection)
    dribble(connection, server, b"HTTP/1.1 200", b" ")


def endless_headers(connection: socket.socket, server: RawServer) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 500 No\r\n")
    while not server.stopping.is_set():
        connection.sendall(b"X-Filler: " + b"x" * 60_000 + b"\r\n")


def a_million_headers(connection: socket.socket, server: RawServer) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 500 No\r\n" + b"A: b\r\n" * 1_000_000 + b"\r\n")


def slow_body(connection: socket.socket, server: RawServer) -> None:
    read_request(connection)
    dribble(connection, server, b"HTTP/1.1 500 No\r\nContent-Length: 100000\r\n\r\n", b"x")


def endless_body(connection: socket.socket, server: RawServer) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not server.stopping.is_set():
        connection.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")


def endless_chunk_size(connection: socket.socket, server: RawServer) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n")
    while not server.stopping.is_set():
        connection.sendall(b"1" * 60_000)


def compressed_bomb(connection: socket.socket, server: RawServer) -> None:
    read_request(connection)
    bomb = gzip.compress(b"\0" * BOMB_BYTES, compresslevel=1)
    head = b"HTTP/1.1 500 No\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    connection.sendall(head + bomb)


def a_hundred_interim_answers(connection: socket.socket, server: RawServer) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 100)
    server.stopping.wait(30)


def interim_answers_for_ever(connection: socket.socket, server: RawServer) -> None:
    read_request(connection)
    dribble(connection, server, b"", b"HTTP/1.1 100 Continue\r\n\r\n")


def redirect_to_the_metadata(connection: socket.socket, server: RawServer) -> None:
    read_request(connection)
    connection.sendall(
        b"HTTP/1.1 307 Here\r\nLocation: http://169.254.169.254/latest/meta-data/\r\nContent-Length: 0\r\n\r\n"
    )


def reset_at_once(connection: socket.socket, server: RawServer) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def reset_after_the_status(connection: socket.socket, server: RawServer) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 500 No\r\nContent-Length: 10\r\n\r\n")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def never_reads(connection: socket.socket, server: RawServer) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    server.stopping.wait(30)


def garbage(connection: socket.socket, server: RawServer) -> None:
    connection.sendall(os.urandom(100_000))


def tls_stall(connection: socket.socket, server: RawServer) -> None:
    connection.recv(65536)
    dribble(connection, server, b"\x16\x03\x03", b"\x00")


BEHAVIOURS: tuple[Behaviour, ...] = (
    silent,
    slow_headers,
    endless_headers,
    a_million_headers,
    slow_body,
    endless_body,
    endless_chunk_size,
    compressed_bomb,
    a_hundred_interim_answers,
    interim_answers_for_ever,
    redirect_to_the_metadata,
    reset_at_once,
    reset_after_the_status,
    never_reads,
    garbage,
    tls_stall,
)


def main() -> None:
    """Serve each behaviour on its own port."""
    with ExitStack() as stack:
        ports = {behave.__name__: stack.enter_context(raw_server(behave)).port for behave in BEHAVIOURS}
        nobody = socket.create_server(
            ("127.0.0.1", 0), backlog=0
        )  # queues connections, but never accepts them
        stack.callback(nobody.close)
        print(json.dumps({**ports, "half_open": nobody.getsockname()[1]}), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
