"""The service, whose process can be killed after it has answered a call, before anybody hears the answer."""

import os
import signal
from collections.abc import Callable, Iterable
from typing import Any

from config.wsgi import application as service


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer, or die with the answer on the lips."""
    answer: Iterable[bytes] = service(environ, start_response)
    if environ.get("HTTP_X_DIE") == "before the answer is sent":
        os.kill(os.getpid(), signal.SIGKILL)
    return answer
