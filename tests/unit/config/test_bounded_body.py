"""Whatever the server sends, a response is read only up to its size limit and its deadline."""

import io
import time

import pytest
import requests
from urllib3.response import HTTPResponse

from config.bounded_body import BodyTooLarge, BodyTooSlow, BoundedBody


def body(content: bytes, *, most_bytes: int, seconds: float = 60) -> BoundedBody:
    response = requests.Response()
    response.raw = HTTPResponse(io.BytesIO(content), preload_content=False)
    return BoundedBody(response, most_bytes=most_bytes, ends_at=time.monotonic() + seconds)


def test_a_body_of_exactly_the_limit_is_read_whole() -> None:
    assert body(b"x" * 1000, most_bytes=1000).read_all() == b"x" * 1000


def test_one_byte_more_is_too_large() -> None:
    with pytest.raises(BodyTooLarge):
        body(b"x" * 1001, most_bytes=1000).read_all()


def test_a_body_that_arrives_after_the_deadline_is_too_slow() -> None:
    with pytest.raises(BodyTooSlow):
        body(b"x", most_bytes=1000, seconds=-1).read_all()


def test_an_empty_body_is_never_late() -> None:
    assert body(b"", most_bytes=0, seconds=-1).read_all() == b""


def test_reading_nothing_reads_nothing() -> None:
    reader = body(b"xyz", most_bytes=3)
    assert (reader.read(0), reader.read(2), reader.received) == (b"", b"xy", 2)
