"""A TCP proxy whose connections can vanish without being closed, as when a machine loses power.

A filter on the proxy's sockets drops all packets. So the kernels at both ends get no acknowledgements and no
response to keepalives. Linux only.
"""

import asyncio
import ctypes
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_SO_ATTACH_FILTER = 26
# A BPF program that returns 0: the number of bytes to keep of each packet.
_DROP_ALL = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
_PROGRAM = struct.pack("HL", 1, ctypes.addressof(_DROP_ALL))
_CHUNK = 65536


class Wire:
    """The proxy's own address and its upstream address, both on this machine."""

    def __init__(self, upstream: tuple[str, int], tls: ssl.SSLContext | None = None) -> None:
        self.upstream = upstream
        self.port = 0
        self._tls = tls
        self._loop = asyncio.new_event_loop()
        self._live: set[_Line] = set()

    def vanish(self) -> int:
        """Make all open connections vanish; return their number. New connections still work."""

        async def vanish() -> int:
            lines, self._live = self._live, set()
            for line in lines:
                line.vanish()
            return len(lines)

        return asyncio.run_coroutine_threadsafe(vanish(), self._loop).result(10)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there = await asyncio.open_connection(*self.upstream)
        except OSError:
            writer.transport.abort()
            return
        line = _Line((reader, writer), there)
        self._live.add(line)
        with suppress(asyncio.CancelledError):  # when the proxy ends
            await line.carry()
        self._live.discard(line)

    def _run(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._carry, "127.0.0.1", 0, ssl=self._tls)
        )
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        self._loop.run_forever()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)


_End = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class _Line:
    """Both ends of one connection."""

    def __init__(self, here: _End, there: _End) -> None:
        self._here, self._there = here, there
        self._pumps: list[asyncio.Task[None]] = []
        self._has_vanished = False

    async def carry(self) -> None:
        """Forward bytes both ways until one end closes, then close the other. A vanished connection stays open."""
        self._pumps = [
            asyncio.ensure_future(_pump(self._here[0], self._there[1])),
            asyncio.ensure_future(_pump(self._there[0], self._here[1])),
        ]
        await asyncio.wait(self._pumps, return_when=asyncio.FIRST_COMPLETED)
        for pump in self._pumps:
            pump.cancel()
        if not self._has_vanished:
            for _, writer in (self._here, self._there):
                writer.transport.abort()

    def vanish(self) -> None:
        """Drop everything received from now on, and send nothing."""
        self._has_vanished = True
        for _, writer in (self._here, self._there):
            mine: socket.socket = writer.get_extra_info("socket")
            mine.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, _PROGRAM)
        for pump in self._pumps:
            pump.cancel()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()


@contextmanager
def running_wire(upstream: tuple[str, int], tls: ssl.SSLContext | None = None) -> Iterator[Wire]:
    """Run a proxy in front of this address until the block ends. With `tls`, clients use encrypted connections."""
    wire, ready = Wire(upstream, tls), threading.Event()
    thread = threading.Thread(target=wire._run, args=(ready,), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield wire
    finally:
        wire._stop()
        thread.join(10)
