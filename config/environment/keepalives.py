"""How both ends of a connection to PostgreSQL notice within about ten seconds that the other one vanished.

A machine without power, or a firewall that forgets a connection, closes no socket. Linux by itself would wait for a
quarter of an hour where something was sent, and for two hours where nothing was. Unix sockets need none of this.
"""

from typing import Any

OURS: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 4,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""libpq's connection parameters, in seconds, but for the last one: milliseconds without an acknowledgement."""

PEER_OPTIONS = " ".join(
    f"-c {name}={value}"
    for name, value in {
        "tcp_keepalives_idle": 4,
        "tcp_keepalives_interval": 2,
        "tcp_keepalives_count": 3,
        "tcp_user_timeout": 10_000,
    }.items()
)
"""The same for PostgreSQL's end, in `options`: it then ends a transaction whose process is gone, and its locks."""
