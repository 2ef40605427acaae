"""Data that a client doesn't read immediately is stored, up to a limit, and sent in order."""

import select
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from config.server.outgoing import MAX_KEPT_BYTES, Outgoing

PIECE = bytes(range(256)) * 128


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    server, client = socket.socketpair()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
    client.settimeout(30)
    with server, client:
        yield server, client


def received(client: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += client.recv(count - len(data))
    return data


def test_what_fits_is_kept_and_sent_in_order(ends: tuple[socket.socket, socket.socket]) -> None:
    server, client = ends
    outgoing = Outgoing(server)
    pieces = MAX_KEPT_BYTES // len(PIECE) - 1
    for _ in range(pieces):
        outgoing.sendall(PIECE)
    assert len(outgoing.rest) > MAX_KEPT_BYTES // 2
    assert outgoing.send_rest() == 0
    count, data = pieces * len(PIECE), b""
    while len(data) < count:
        data += client.recv(65536)
        before = len(outgoing.rest)
        assert outgoing.send_rest() == before - len(outgoing.rest)
    assert data == PIECE * pieces


def test_beyond_the_limit_the_thread_waits_for_the_client(ends: tuple[socket.socket, socket.socket]) -> None:
    server, client = ends
    outgoing, body = Outgoing(server), PIECE * (2 * MAX_KEPT_BYTES // len(PIECE))
    with ThreadPoolExecutor(1) as reader:
        read = reader.submit(received, client, len(body))
        outgoing.sendall(body)
        assert 0 < len(outgoing.rest) <= MAX_KEPT_BYTES
        while outgoing.rest:
            select.select([], [server], [], 30)
            outgoing.send_rest()
        assert read.result(30) == body
