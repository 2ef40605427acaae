"""A receiver for the webhook benchmark. It supports only the HTTP features that the benchmark needs, so that it is fast
enough.

`POST /fast/...` responds immediately, `POST /hang/...` after ten seconds. `GET /report` returns, for each event id, the
milliseconds from the time `sent` in its body to its arrival. After that, the receiver deletes these times. As soon as
the receiver listens, it prints its port.
"""

import asyncio
import json
import re
import time

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_EVENT = re.compile(rb'"id":"(evt_[^"]+)"')
_SENT = re.compile(rb'"sent":([0-9.]+)')
_OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
HANG_SECONDS = 10.0

arrivals: dict[str, float] = {}


class Receiver(asyncio.Protocol):
    """One connection, which handles one request after the other."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.buffer = b""

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self.buffer[:end])
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self.buffer) < whole:
                return
            request, self.buffer = self.buffer[:whole], self.buffer[whole:]
            self._answer(request)

    def _answer(self, request: bytes) -> None:
        if request.startswith(b"GET /report"):
            body = json.dumps(arrivals).encode()
            arrivals.clear()
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            return
        event, sent = _EVENT.search(request), _SENT.search(request)
        if event and sent:
            arrivals.setdefault(event[1].decode(), (time.time() - float(sent[1])) * 1000)
        if request.startswith(b"POST /hang"):
            asyncio.get_running_loop().call_later(HANG_SECONDS, self._late)
        else:
            self.transport.write(_OK)

    def _late(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(_OK)


async def main() -> None:
    """Listen until killed."""
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
