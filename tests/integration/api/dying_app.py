"""The service in a process that can kill itself after a call, before it sends the response."""

import os
import signal
from collections.abc import Callable, Iterable
from typing import Any

from config.wsgi import application as service


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Return the response, or kill the process before sending it."""
    response: Iterable[bytes] = service(environ, start_response)
    if environ.get("HTTP_X_DIE") == "before the response is sent":
        os.kill(os.getpid(), signal.SIGKILL)
    return response
