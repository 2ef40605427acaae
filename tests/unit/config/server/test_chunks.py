"""A chunked body is decoded in the same way, wherever its bytes are split.

If its end is ambiguous, it is rejected.
"""

import random

import pytest

from config.server.chunks import BadChunk, ChunkedBody

MAX_BYTES = 64 * 1024


def decoded(raw: bytes, cuts: list[int], most: int = MAX_BYTES) -> ChunkedBody:
    body = ChunkedBody()
    for begin, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
        if not body.is_complete:
            body.feed(raw[begin:end], most)
        else:
            body.rest += raw[begin:end]
    return body


@pytest.mark.parametrize(
    ("raw", "content", "rest"),
    [
        (b"0\r\n\r\n", b"", b""),
        (b"2\r\n{}\r\n0\r\n\r\n", b"{}", b""),
        (b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", b"{}", b""),
        (b"00000002\r\n{}\r\n000\r\n\r\n", b"{}", b""),
        (b"A\r\n0123456789\r\n0\r\n\r\n", b"0123456789", b""),
        (b"2;name=value\r\n\r\n\r\n0;x\r\n\r\n", b"\r\n", b""),
        (b"2\r\n{}\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n", b"{}", b""),
        (b"2\r\n{}\r\n0\r\n\r\nGET / HTTP/1.1\r\n", b"{}", b"GET / HTTP/1.1\r\n"),
    ],
)
def test_what_is_decoded_does_not_depend_on_how_it_arrives(raw: bytes, content: bytes, rest: bytes) -> None:
    chance = random.Random(raw)
    ways = [[], [*range(1, len(raw))]]
    ways += [
        sorted(chance.sample(range(1, len(raw)), chance.randint(1, min(4, len(raw) - 1)))) for _ in range(50)
    ]
    for cuts in ways:
        body = decoded(raw, cuts)
        assert (body.is_complete, bytes(body.content), body.rest) == (True, content, rest), cuts


@pytest.mark.parametrize(
    "raw",
    [
        b"\r\n", b"x\r\n", b"0x2\r\n{}\r\n", b"-2\r\n", b"+2\r\n", b" 2\r\n", b"2 \r\n", b"2_0\r\n", b"2,2\r\n",
        b"123456789\r\n", b"2\n{}\r\n", b"2\r\r\n{}\r\n", b"2;a\rb\r\n{}\r\n", b"2;\x00\r\n{}\r\n", b"2;\n\r\n{}\r\n",
        b"2\r\n{}0\r\n\r\n", b"2\r\n{}\n0\r\n\r\n", b"2\r\n{}}\r\n0\r\n\r\n", b"1\r\n{}\r\n0\r\n\r\n",
        b"0\r\n\n", b"0\r\nX: 1\n\r\n", b"2;" + b"x" * 2000, b"1" * 2000, b"0\r\n" + b"X: 1\r\n" * 100,
        "２\r\n{}\r\n".encode(),
    ],
)  # fmt: skip
def test_what_has_no_certain_end_is_refused(raw: bytes) -> None:
    for cuts in ([], [*range(1, len(raw))]):
        with pytest.raises(BadChunk):
            decoded(raw, cuts)


def test_a_body_without_its_end_is_not_complete() -> None:
    whole = b"2\r\n{}\r\n0\r\nX: 1\r\n\r\n"
    for length in range(len(whole)):
        assert not decoded(whole[:length], []).is_complete


def test_no_more_than_the_limit_and_what_came_with_it_is_kept() -> None:
    body = ChunkedBody()
    for _ in range(100):
        body.feed(b"400\r\n" + b"x" * 1024 + b"\r\n", 10 * 1024)
    assert not body.is_complete
    assert 10 * 1024 < len(body.content) <= 11 * 1024
