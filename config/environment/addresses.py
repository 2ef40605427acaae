"""Parsers of settings that are addresses.

Each returns the parsed value or raises Wrong. Most addresses contain a password or a key. So no message quotes the
value, or the message of a library, which could contain the value.
"""

import os
import re
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

import environ

from config.environment import sentinels, values
from config.environment.wrong import Wrong

EMAIL_SCHEMES = (
    "smtp",
    "smtps",
    "smtp+tls",
    "smtp+ssl",
    "consolemail",
    "filemail",
    "memorymail",
    "dummymail",
)
_POSTGRESQL_SCHEMES = ("postgresql", "postgres", "pgsql", "psql")
_DJANGO_OPTIONS = ("CONN_MAX_AGE", "DISABLE_SERVER_SIDE_CURSORS")
_SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
# Usual options of libpq. All are in https://www.postgresql.org/docs/current/libpq-connect.html.
_LIBPQ_OPTIONS = frozenset(
    ("host", "port", "user", "password", "dbname", "sslmode", "sslrootcert", "application_name")
)
_REDIS_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
_SENTINEL_PATH = re.compile(r"/[A-Za-z0-9._-]+(?:/[0-9]{1,5})?")
_REDIS_DATABASE = re.compile(r"/?|/[0-9]{1,5}")
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_PATH = re.compile(r"[A-Za-z0-9._~%/-]*")
# The pages' Content-Security-Policy contains the relay's address, so the address must not contain spaces or semicolons.
_RELAY = re.compile(r"wss?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/-]*)?")


def origin(text: str) -> str:
    """Return an http(s) address without its trailing slash. Raises Wrong for an address with a query or credentials."""
    parts = _split(text, "http", "https")
    _reject_extras(parts)
    # The address becomes a part of headers and pages, so its path has only safe characters.
    if not _PATH.fullmatch(parts.path):
        raise Wrong("has characters in its path that an address should not have")
    return text.rstrip("/")


def optional_origin(text: str) -> str:
    return origin(text) if text else ""


def relay(text: str) -> str:
    """Return the address of a WebSocket relay: wss, or ws on a loopback address, without a query."""
    parts = _split(text, "wss", "ws")
    _reject_extras(parts)
    if parts.scheme == "ws" and not is_loopback(parts.hostname):
        raise Wrong("is not encrypted")
    if not _RELAY.fullmatch(text.rstrip("/")):
        raise Wrong("has characters that an address should not have")
    return text.rstrip("/")


def node(text: str) -> str:
    """Return the http(s) address of a chain's node, which may contain a key."""
    _split(text, "http", "https")
    if "\\" in text:
        raise Wrong("has a backslash in it")
    return text


def database(text: str) -> dict[str, Any]:
    """Return Django's settings for a PostgreSQL database. The query may contain options of libpq."""
    parts = _split(text, *_POSTGRESQL_SCHEMES, is_host_needed=False, are_many_hosts_allowed=True)
    options = _query(parts)
    if not parts.path.strip("/") and "service" not in options:
        raise Wrong("names no database")
    _check_database_options(options)
    try:
        config: dict[str, Any] = environ.Env.db_url_config(text)
    except (ValueError, IndexError, environ.ImproperlyConfigured):
        raise Wrong("is not an address") from None
    if "," in (place := parts.netloc.rpartition("@")[2]):
        config |= _several_hosts(place)
    return config


def _several_hosts(place: str) -> dict[str, str]:
    """Return the hosts and the ports as libpq's lists. django-environ's lists would be wrong: it drops a missing port,
    and keeps the brackets of an IPv6 address.
    """
    hosts = [urlsplit(f"//{each}") for each in place.split(",")]
    return {
        "HOST": ",".join(each.hostname or "" for each in hosts),
        "PORT": ",".join(str(each.port or "") for each in hosts),
    }


def listen_database(text: str) -> str:
    """Return a PostgreSQL address in libpq's form, or an empty string."""
    if not text:
        return ""
    if not text.startswith(("postgresql://", "postgres://")):
        raise Wrong("is not an address with the scheme postgresql")
    database(text)
    return text


def _check_database_options(given: dict[str, str]) -> None:
    options = {name.upper() if name.upper() in _DJANGO_OPTIONS else name: given[name] for name in given}
    if options.pop("CONN_MAX_AGE", "0") != "0":
        raise Wrong("sets CONN_MAX_AGE, which has no effect with a connection pool")
    if options.pop("DISABLE_SERVER_SIDE_CURSORS", "True") not in ("True", "False"):
        raise Wrong("sets DISABLE_SERVER_SIDE_CURSORS to neither True nor False")
    if "options" in options:
        raise Wrong("sets options, which the service sets itself")
    if options.get("sslmode", "prefer") not in _SSL_MODES:
        raise Wrong(f"sets sslmode to none of {', '.join(_SSL_MODES)}")
    rare = options.keys() - _LIBPQ_OPTIONS
    if not rare:
        return
    # The beat process doesn't need psycopg, whose import takes 0.1 s and 9 MB. So psycopg is imported only here.
    from psycopg import ProgrammingError
    from psycopg.conninfo import make_conninfo

    for name in sorted(rare):
        try:
            make_conninfo("", **{name: "1"})
        except (ProgrammingError, TypeError):
            raise Wrong("has an option in its query that libpq does not know") from None


def redis(text: str) -> str:
    """Return the address of a Redis database. Celery, the cache and the rate limits can all parse it."""
    if text.startswith(f"{sentinels.SCHEME}://"):
        return _sentinels(text)
    parts = _split(text, "redis", "rediss")
    if ";" in text:
        # Celery would split the text at the semicolon into several addresses.
        raise Wrong("has a ;, which must be written as %3B")
    if not _REDIS_DATABASE.fullmatch(parts.path):
        raise Wrong("has a path that is not the number of a database")
    options = _query(parts)
    if options and parts.scheme == "redis":
        raise Wrong("has options in its query, which only rediss accepts")
    for name, value in options.items():
        if name == "ssl_cert_reqs" and value in ("none", "optional", "required"):
            continue
        if name not in _REDIS_FILES:
            raise Wrong("has an unknown option in its query, or an option with an unknown value")
        if not os.access(value, os.R_OK):
            raise Wrong(f"names a file as {name} that can't be read")
    return text


def _sentinels(text: str) -> str:
    parts = _split(text, sentinels.SCHEME, are_many_hosts_allowed=True)
    if not _SENTINEL_PATH.fullmatch(parts.path):
        raise Wrong("has a path other than /NAME/NUMBER, the name of a primary and the number of a database")
    if parts.query or parts.fragment:
        raise Wrong("has a query or fragment")
    return text


def email(text: str) -> dict[str, Any]:
    parts = _split(text, *EMAIL_SCHEMES, is_host_needed=text.startswith("smtp"))
    options = {name.upper(): value for name, value in _query(parts).items()}
    if not options.keys() <= {"EMAIL_USE_TLS", "EMAIL_USE_SSL"}:
        raise Wrong("has an option in its query other than EMAIL_USE_TLS and EMAIL_USE_SSL")
    if parts.scheme == "filemail":
        _check_folder(environ.Env.email_url_config(text)["EMAIL_FILE_PATH"])
    config: dict[str, Any] = environ.Env.email_url_config(text)
    for name, value in options.items():
        config[name] = values.boolean(value)
    config.pop("OPTIONS", None)
    if config.get("EMAIL_USE_TLS") and config.get("EMAIL_USE_SSL"):
        raise Wrong("sets both EMAIL_USE_TLS and EMAIL_USE_SSL")
    return config


def _check_folder(folder: str) -> None:
    """Raise Wrong unless the folder is writable. If it doesn't exist, the first mail creates it."""
    if not folder:
        raise Wrong("names no folder")
    path = Path(folder).absolute()
    # Below an unreadable folder, `os.path.exists` returns False, but `Path.exists` raises.
    nearest = next(place for place in (path, *path.parents) if os.path.exists(place))
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise Wrong("names a folder that can't be written to")


def sentry(text: str) -> str:
    """Return a Sentry DSN, or an empty string."""
    if text:
        from sentry_sdk.utils import BadDsn, Dsn

        try:
            Dsn(text)
        except (BadDsn, ValueError):
            raise Wrong("is not a DSN") from None
    return text


def collector(text: str) -> str:
    """Return the address of an OpenTelemetry collector, or an empty string."""
    if not text:
        return ""
    if not _is_installed("opentelemetry.exporter.otlp.proto.http"):
        raise Wrong("needs packages that are not installed")
    return origin(text)


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the parent package isn't installed
        return False


def is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False


def is_plain_and_remote(url: str) -> bool:
    """Return whether calls to this address cross a network unencrypted."""
    parts = urlsplit(url)
    return parts.scheme == "http" and not is_loopback(parts.hostname)


def _split(
    text: str, *schemes: str, is_host_needed: bool = True, are_many_hosts_allowed: bool = False
) -> SplitResult:
    """Return the parts of an absolute address with one of the schemes, valid hosts, and ports in range."""
    if re.search(r"\s", text):
        raise Wrong("has a blank in it")
    scheme, separator, _ = text.partition("://")
    if not separator:
        raise Wrong("has no scheme")
    if scheme not in schemes:
        raise Wrong("has a scheme that is not supported")
    try:
        parts = urlsplit(text)
    except ValueError:
        raise Wrong("has a host that can't be read") from None
    place = parts.netloc.rpartition("@")[2]
    for one in place.split(",") if are_many_hosts_allowed else [place]:
        _check_host(one, is_needed=is_host_needed)
    return parts


def _check_host(place: str, *, is_needed: bool) -> None:
    if not place and not is_needed:
        return
    try:
        parts = urlsplit(f"//{place}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise Wrong("has a host or port that can't be read") from None
    if not host:
        raise Wrong("has no host")
    if port == 0:
        raise Wrong("has the port 0")
    if not _HOST.fullmatch(host) and ":" not in host:
        raise Wrong("has a host that is not a host name")


def _reject_extras(parts: SplitResult) -> None:
    if "@" in parts.netloc:
        raise Wrong("has credentials")
    if parts.query or parts.fragment:
        raise Wrong("has a query or fragment")


def _query(parts: SplitResult) -> dict[str, str]:
    """Return the options in the query. Raises Wrong if an option has no value or appears twice."""
    if parts.fragment:
        raise Wrong("has a #, which must be written as %23")
    try:
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise Wrong("has a query that can't be read") from None
    if len(dict(pairs)) != len(pairs) or not all(value for _, value in pairs):
        raise Wrong("has an option in its query without a value, or twice")
    return dict(pairs)
