"""A WebSocket of one node that announces new blocks. The messages are only hints, so their content is not read."""

import json
import logging
import threading
from collections.abc import Callable
from typing import Any

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from chains.families import socket_urls
from chains.models import Chain
from config.backoff import doubled

logger = logging.getLogger(__name__)

_LARGEST_MESSAGE = 64 * 1024
_OPEN_SECONDS = 10.0
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0
# A socket without a message for this many block times is closed.
_SILENT_BLOCKS = 20
_SHORTEST_SILENCE_SECONDS = 60.0


class Subscription:
    """Call `on_message` for each message about a new block. After a failure, connect to the next URL."""

    def __init__(self, chain: Chain, on_message: Callable[[], None]) -> None:
        self._urls = socket_urls(chain.ws_urls)
        method, *parameters = chain.family.subscribe_heads or ("",)
        self._subscribe = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters})
        self._has_method = bool(method)
        self._silence = max(chain.block_time_ms / 1000 * _SILENT_BLOCKS, _SHORTEST_SILENCE_SECONDS)
        self._on_message = on_message
        self._stopping = threading.Event()
        self._socket: ClientConnection | None = None
        self._thread = threading.Thread(target=self._run, name=f"socket-{chain.pk}", daemon=True)

    def start(self) -> None:
        """Connect, if the catalogue names a URL."""
        if self._urls and self._has_method:
            self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        socket = self._socket
        if socket is not None:
            socket.close()

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            url = self._urls[failures % len(self._urls)]
            try:
                for _ in self._messages(url):
                    failures = 0
                    self._on_message()
            except (OSError, TimeoutError, WebSocketException, ValueError) as error:
                # The URL and the error's text may contain a key, so they are not logged.
                logger.info("a WebSocket for new blocks failed: %s", type(error).__name__)
            failures += 1
            self._stopping.wait(doubled(_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS, failures - 1))

    def _messages(self, url: str) -> Any:
        """Yield once for each message; raises TimeoutError after a long silence."""
        with connect(
            url, max_size=_LARGEST_MESSAGE, open_timeout=_OPEN_SECONDS, close_timeout=1, compression=None
        ) as self._socket:
            self._socket.send(self._subscribe)
            while not self._stopping.is_set():
                self._socket.recv(timeout=self._silence)
                yield
