"""Redis behind Sentinels, for the cache, the rate limits, the heartbeat and Celery. Works without Django.

The address is `redis+sentinel://user:password@one:26379,two:26379/NAME/0`. `one` and `two` are Sentinels, which monitor
the primary under the name `NAME`. `0` is the number of the database. The user and password are those of Redis.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlsplit

SCHEME = "redis+sentinel"
_PORT = 26379


@dataclass(frozen=True)
class Sentinels:
    hosts: tuple[tuple[str, int], ...]
    name: str
    database: int
    credentials: dict[str, str]
    """`username` and `password`, if the address has them."""

    @classmethod
    def of(cls, url: str) -> "Sentinels | None":
        """Parse `url`. Return None if it is the address of a Redis server and not of Sentinels."""
        parts = urlsplit(url)
        if parts.scheme != SCHEME:
            return None
        userinfo, _, place = parts.netloc.rpartition("@")
        hosts = [urlsplit(f"//{each}") for each in place.split(",")]
        name, _, database = parts.path.strip("/").partition("/")
        username, _, password = map(unquote, userinfo.partition(":"))
        return cls(
            tuple((each.hostname or "", each.port or _PORT) for each in hosts),
            unquote(name),
            int(database or 0),
            {key: value for key, value in (("username", username), ("password", password)) if value},
        )


class Pool:
    """Creates connection pools. Django's cache uses this class because of the option `pool_class` in the settings."""

    @staticmethod
    def from_url(url: str, **options: Any) -> Any:
        """Return a pool for the address of a Redis server or of Sentinels.

        `options` are passed to redis-py's connections.

        If the connection was closed, or if its server became a replica, the command is sent once more over a new
        connection.
        """
        from redis import ConnectionError, ConnectionPool, ReadOnlyError, Sentinel
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        options["retry"] = Retry(NoBackoff(), 1, supported_errors=(ConnectionError, ReadOnlyError))
        sentinels = Sentinels.of(url)
        if sentinels is None:
            return ConnectionPool.from_url(url, **options)
        make_monitor: Any = Sentinel  # redis-py has no types for it
        monitor = make_monitor(sentinels.hosts, sentinel_kwargs=_for_sentinels(options))
        primary = {**options, **sentinels.credentials, "db": sentinels.database}
        return monitor.master_for(sentinels.name, **primary).connection_pool


def broker(url: str, transport_options: dict[str, Any]) -> dict[str, Any]:
    """Return Celery's settings for the broker at this address."""
    sentinels = Sentinels.of(url)
    if sentinels is None:
        if url.startswith("rediss://") and "ssl_cert_reqs=" not in url:
            # By default, Kombu would accept any certificate.
            url += f"{'&' if '?' in url else '?'}ssl_cert_reqs=required"
        return {"broker_url": url, "broker_transport_options": transport_options}
    username, password = (
        quote(sentinels.credentials.get(name, ""), safe="") for name in ("username", "password")
    )
    userinfo = f"{username}:{password}@" if sentinels.credentials else ""
    hosts = (f"[{host}]" if ":" in host else host for host, _ in sentinels.hosts)
    urls = [
        f"sentinel://{userinfo}{host}:{port}/{sentinels.database}"
        for host, (_, port) in zip(hosts, sentinels.hosts, strict=True)
    ]
    return {
        "broker_url": ";".join(urls),
        "broker_transport_options": {
            **transport_options,
            "master_name": sentinels.name,
            "sentinel_kwargs": _for_sentinels(transport_options),
        },
    }


def _for_sentinels(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name.startswith("socket_") or name == "retry"}
