"""Keepalive settings. With them, both ends of a PostgreSQL connection notice a lost peer within about ten seconds.

If one machine loses power, or if a firewall drops the connection, the socket on the other machine stays open. By
default, Linux closes it only after two hours, or after a quarter of an hour if data was sent. Unix sockets don't need
these settings.
"""

from typing import Any

OURS: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 4,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""libpq's connection parameters. `tcp_user_timeout` is in milliseconds, and the other times are in seconds."""

PEER_OPTIONS = " ".join(
    f"-c {name}={value}"
    for name, value in {
        "tcp_keepalives_idle": 4,
        "tcp_keepalives_interval": 2,
        "tcp_keepalives_count": 3,
        "tcp_user_timeout": 10_000,
    }.items()
)
"""The same settings for PostgreSQL's end. PostgreSQL then ends the transactions and locks of a lost process."""
