"""A strict decoder of chunked request bodies (RFC 9112, section 7.1). Each part is decoded as it arrives."""

import re

_SIZE = re.compile(rb"[0-9a-fA-F]{1,8}")
_EXTENSION = re.compile(rb"[ \t]*;[\t\x20-\x7e\x80-\xff]*")
_LONGEST_LINE = 1024
_MAX_TRAILERS = 32


class BadChunk(ValueError):
    """The chunked coding is invalid, so the connection's next request can't be found."""


class ChunkedBody:
    """A chunked body. `is_complete` is True after the last chunk and the trailers."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.is_complete = False
        self.rest = b""
        self._waiting = bytearray()
        self._left = 0  # missing bytes of the current chunk
        self._is_between = False  # after a chunk's data, before the line break that ends it
        self._trailers: int | None = None

    def feed(self, data: bytes, limit: int) -> None:
        """Decode `data` until the body is complete or longer than `limit` bytes. `rest` are the bytes after the body.

        Raises BadChunk. Extensions and trailer fields are ignored, as RFC 9112 allows.
        """
        self._waiting += data
        while not self.is_complete and len(self.content) <= limit:
            if not (self._take_data() if self._left else self._take_line()):
                return
        self.rest = bytes(self._waiting)

    def _take_data(self) -> bool:
        piece = self._waiting[: self._left]
        del self._waiting[: len(piece)]
        self.content += piece
        self._left -= len(piece)
        self._is_between = not self._left
        return bool(piece)

    def _take_line(self) -> bool:
        end = self._waiting.find(b"\n", 0, _LONGEST_LINE)
        if end < 0 and len(self._waiting) >= _LONGEST_LINE:
            raise BadChunk("a line of the chunked body is too long")
        if end < 0:
            return False
        line = bytes(self._waiting[:end])
        del self._waiting[: end + 1]
        if line.find(b"\r") != len(line) - 1 or not line:
            raise BadChunk("a line of the chunked body does not end with CRLF")
        self._read_line(line[:-1])
        return True

    def _read_line(self, line: bytes) -> None:
        if self._is_between:
            if line:
                raise BadChunk("a chunk is longer than its size")
            self._is_between = False
        elif self._trailers is not None:
            self._trailers += 1
            self.is_complete = not line
            if self._trailers > _MAX_TRAILERS:
                raise BadChunk("the chunked body has too many trailer fields")
        else:
            self._begin_chunk(line)

    def _begin_chunk(self, line: bytes) -> None:
        size = _SIZE.match(line)
        if not size or not (size.end() == len(line) or _EXTENSION.fullmatch(line, size.end())):
            raise BadChunk("a chunk has no valid size")
        self._left = int(size[0], 16)
        if not self._left:
            self._trailers = 0
