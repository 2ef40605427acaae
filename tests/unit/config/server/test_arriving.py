"""When a request is complete, or is rejected before a thread gets it. gunicorn's own parser reads it in pieces."""

import random
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from gunicorn.config import Config
from gunicorn.http.errors import (
    InvalidChunkSize,
    InvalidHeader,
    LimitRequestHeaders,
    UnsupportedTransferCoding,
)

from config.server.arriving import MAX_BODY_BYTES, MAX_HEAD_BYTES, REQUEST_SECONDS, Arriving

POST = b"POST /api/x HTTP/1.1\r\nHost: testserver\r\n"
GET = b"GET /healthz HTTP/1.1\r\nHost: testserver\r\n\r\n"


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(5)
        yield ours, theirs


@pytest.fixture
def arriving(ends: tuple[socket.socket, socket.socket]) -> Arriving:
    new = Arriving(Config(), ends[0], ("192.0.2.1", 4711))
    assert not new.begin(100.0)
    assert new.deadline == 100.0 + REQUEST_SECONDS
    return new


def feed(arriving: Arriving, raw: bytes, cuts: list[int]) -> bool:
    """Feed the pieces up to the one that completes the request. Nothing may be left of `raw` then."""
    for begin, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        if arriving.receive(raw[begin:end]):
            assert end == len(raw), "it was complete too early"
            return True
    return False


REQUESTS = [
    (GET, b""),
    (b"\r\n" + GET, b""),
    (POST + b"Content-Length: 2\r\n\r\n{}", b"{}"),
    (POST + b"Content-Length: 0\r\n\r\n", b""),
    (POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", b"{}"),
    (POST + b"Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", b""),
]


@pytest.mark.parametrize(("raw", "content"), REQUESTS)
def test_request_is_complete_at_last_byte_however_it_is_split(
    ends: tuple[socket.socket, socket.socket], raw: bytes, content: bytes
) -> None:
    chance = random.Random(raw)
    ways = [[], [*range(1, len(raw))]] + [sorted(chance.sample(range(1, len(raw)), 3)) for _ in range(30)]
    for cuts in ways:
        arriving = Arriving(Config(), ends[0], ("192.0.2.1", 4711))
        arriving.begin(0.0)
        assert feed(arriving, raw, cuts)
        request = next(arriving)
        assert request.body.read() == content
        headers = dict(request.headers)
        assert "TRANSFER-ENCODING" not in headers
        assert headers.get("CONTENT-LENGTH", "0") == str(len(content))
        assert arriving.finish_body()


def test_what_follows_a_request_is_the_next_one(arriving: Arriving) -> None:
    assert arriving.receive(POST + b"Content-Length: 2\r\n\r\n{}" + GET + GET[:10])
    assert next(arriving).method == "POST"
    assert arriving.begin(200.0)
    assert next(arriving).method == "GET"
    assert not arriving.begin(300.0)
    assert arriving.has_begun
    assert arriving.receive(GET[10:])
    assert next(arriving).path == "/healthz"


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        (b"Content-Length: 2\r\nTransfer-Encoding: chunked", InvalidHeader),
        (b"Transfer-Encoding: chunked\r\nContent-Length: 2", InvalidHeader),
        (b"Content-Length: 2\r\nContent-Length: 2", InvalidHeader),
        (b"Content-Length: 2\r\nContent-Length: 3", InvalidHeader),
        (b"Content-Length: 2, 2", InvalidHeader),
        (b"Content-Length: +2", InvalidHeader),
        (b"Content-Length: -2", InvalidHeader),
        (b"Content-Length: 0x2", InvalidHeader),
        (b"Content-Length: \xb2", InvalidHeader),
        (b"Content-Length: " + b"9" * 5000, InvalidHeader),
        (b"Content-Length:", InvalidHeader),
        (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", InvalidHeader),
        (b"Transfer-Encoding: chunked, chunked", InvalidHeader),
        (b"Transfer-Encoding: identity", InvalidHeader),
        (b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked", UnsupportedTransferCoding),
        (b"Transfer-Encoding: gzip, chunked", UnsupportedTransferCoding),
        (b"Transfer-Encoding: chunked, identity", InvalidHeader),
        (b"Transfer-Encoding: xchunked", UnsupportedTransferCoding),
    ],
)
def test_where_a_body_ends_is_never_ambiguous(
    arriving: Arriving, headers: bytes, error: type[Exception]
) -> None:
    assert arriving.receive(POST + headers + b"\r\n\r\n{}" + GET)
    with pytest.raises(error):
        next(arriving)
    assert not arriving.unreader.take_buffered(), "nothing of it is taken for another request"


def test_a_chunked_body_that_breaks_the_rules_is_refused(arriving: Arriving) -> None:
    assert not arriving.receive(POST + b"Transfer-Encoding: chunked\r\n\r\n")
    assert arriving.receive(b"2\n{}\n0\n\n")
    with pytest.raises(InvalidChunkSize):
        next(arriving)


@pytest.mark.parametrize("piece", [b"x", b"X-Header: value\r\n"])
def test_a_head_without_an_end_is_refused(arriving: Arriving, piece: bytes) -> None:
    is_ready, count = arriving.receive(POST), 0
    while not is_ready:
        count += len(piece)
        assert count <= MAX_HEAD_BYTES, "it would be received for ever"
        is_ready = arriving.receive(piece)
    with pytest.raises(LimitRequestHeaders):
        next(arriving)


def test_of_a_body_that_declares_too_much_nothing_is_awaited(arriving: Arriving) -> None:
    declared = f"Content-Length: {MAX_BODY_BYTES + 1}\r\n\r\n".encode()
    assert arriving.receive(POST + declared + b"{")
    request: Any = next(arriving)
    assert request.should_close()
    assert dict(request.headers)["CONTENT-LENGTH"] == str(MAX_BODY_BYTES + 1), (
        "by which the service refuses it"
    )
    assert not arriving.finish_body()


def test_of_a_chunked_body_that_is_too_long_no_more_is_kept(arriving: Arriving) -> None:
    is_ready, count = arriving.receive(POST + b"Transfer-Encoding: chunked\r\n\r\n"), 0
    while not is_ready:
        count += 1
        assert arriving.held_bytes <= MAX_BODY_BYTES
        is_ready = arriving.receive(b"1000\r\n" + b" " * 4096 + b"\r\n")
    assert count == MAX_BODY_BYTES // 4096 + 1
    request: Any = next(arriving)
    assert request.should_close()
    assert int(dict(request.headers)["CONTENT-LENGTH"]) > MAX_BODY_BYTES


def test_a_client_that_waits_to_be_asked_is_asked_once(
    arriving: Arriving, ends: tuple[socket.socket, socket.socket]
) -> None:
    assert not arriving.receive(POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    assert ends[1].recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert arriving.receive(b"{}")
    assert not next(arriving)._expected_100_continue


def test_a_client_is_not_asked_for_what_will_be_refused(
    arriving: Arriving, ends: tuple[socket.socket, socket.socket]
) -> None:
    assert arriving.receive(POST + b"Expect: 100-continue\r\nContent-Length: 9999999\r\n\r\n")
    next(arriving)
    ends[1].setblocking(False)
    with pytest.raises(BlockingIOError):
        ends[1].recv(100)
