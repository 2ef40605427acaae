"""Reading the environment: each setting is checked as it is read, and a wrong one stops the start by its name."""

import re
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

import environ
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured
from limits import RateLimitItem, parse

_RATE = re.compile(r"[1-9][0-9]{0,8}/(second|minute|hour)")
_PROJECT_ID = re.compile(r"[A-Za-z0-9_-]{0,64}")
# A policy for pages names its origin, so that nothing may stand in it that could end the header's part.
_RELAY = re.compile(r"wss?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/-]*)?")
_HEADER_VALUE = re.compile(r"[\x21-\x7e]{0,500}")

env = environ.Env()


def required(name: str, meaning: str) -> str:
    """Return the setting `name`, or stop the start saying what it should be."""
    value = str(env.str(name, default="")).strip()
    if not value:
        raise ImproperlyConfigured(f"{name} is missing: {meaning}")
    return value


def origin(name: str) -> str:
    """Return an absolute http(s) URL without a trailing slash, query or credentials."""
    value = required(
        name, "the address this deployment is reached at, such as https://pay.example.com"
    ).rstrip("/")
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.username:
        raise ImproperlyConfigured(
            f"{name} is wrong: it should be an http(s) address such as https://pay.example.com"
        )
    return value


def api_address(name: str, default: str, *, allow_http: bool) -> str:
    """Return the absolute URL of somebody else's API, without a trailing slash, query or credentials.

    Keys are sent there, so that plain http is only taken on a loopback address, or where `allow_http` says so.
    """
    value = str(env.str(name, default="")).strip().rstrip("/") or default
    hint = "an https address without credentials or query, such as " + default
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ImproperlyConfigured(f"{name} is wrong: it should be {hint}") from None
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and (allow_http or _is_loopback(host)))
    if not is_safe or not host or parts.query or parts.fragment or "@" in parts.netloc:
        raise ImproperlyConfigured(f"{name} is wrong: it should be {hint}")
    return value


def project_id(name: str) -> str:
    """Return the public id of an account with somebody else, or an empty text where it is not set."""
    value = str(env.str(name, default="")).strip()
    if not _PROJECT_ID.fullmatch(value):
        raise ImproperlyConfigured(f"{name} is wrong: it should be up to 64 letters, digits, - and _")
    return value


def relay_address(name: str, default: str) -> str:
    """Return the address of a relay for web sockets: wss, or ws on a loopback address; nothing after the path."""
    value = str(env.str(name, default="")).strip().rstrip("/") or default
    hint = "a wss address without credentials or query, such as " + default
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ImproperlyConfigured(f"{name} is wrong: it should be {hint}") from None
    is_safe = parts.scheme == "wss" or (parts.scheme == "ws" and _is_loopback(host))
    if not is_safe or not _RELAY.fullmatch(value):
        raise ImproperlyConfigured(f"{name} is wrong: it should be {hint}")
    return value


def _is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False


def words(name: str, default: list[str]) -> list[str]:
    """Return comma-separated words, in order; `off` is none at all. One that stands twice is refused."""
    value = str(env.str(name, default="")).strip().lower()
    if value == "off":
        return []
    found = [word.strip() for word in value.split(",") if word.strip()] or default
    if len(set(found)) != len(found):
        raise ImproperlyConfigured(f"{name} is wrong: it names one twice")
    return found


def header_value(name: str) -> str:
    """Return a secret that is sent as an HTTP header, or an empty text where it is not set."""
    value = str(env.str(name, default="")).strip()
    if not _HEADER_VALUE.fullmatch(value):
        raise ImproperlyConfigured(f"{name} is wrong: it should be up to 500 visible ASCII characters")
    return value


def one_of(name: str, choices: tuple[str, ...]) -> str:
    """Return the setting `name`, which has to be one of `choices`."""
    value = required(name, f"one of {', '.join(choices)}")
    if value not in choices:
        raise ImproperlyConfigured(f"{name} is wrong: it should be one of {', '.join(choices)}")
    return value


def boolean(name: str, default: bool) -> bool:
    """Return a true/false setting; anything that is neither is refused rather than read as false."""
    value = env.str(name, default="").strip().lower()
    if value == "":
        return default
    if value in ("true", "1", "yes", "on"):
        return True
    if value in ("false", "0", "no", "off"):
        return False
    raise ImproperlyConfigured(f"{name} is wrong: it should be true or false")


def whole(name: str, default: int, unit: str) -> int:
    """Return a whole number of at least 1, or the default where it is not set."""
    value = env.str(name, default="").strip()
    if value == "":
        return default
    if not (value.isascii() and value.isdecimal() and 1 <= int(value) <= 100_000):
        raise ImproperlyConfigured(f"{name} is wrong: it should be a whole number of {unit}, 1 or more")
    return int(value)


def proxies(name: str) -> int | list[IPv4Network | IPv6Network]:
    """Return how many proxies stand in front of the service (0: none), or the networks that they stand in.

    Only what these proxies say of the client's address and scheme is believed.
    """
    value = str(env.str(name, default="")).strip()
    if value == "" or value.isdecimal():
        return int(value or 0)
    try:
        return [ip_network(part.strip()) for part in value.split(",") if part.strip()]
    except ValueError as error:
        hint = "a number of proxies, or their networks such as 10.0.0.0/8, separated by commas"
        raise ImproperlyConfigured(f"{name} is wrong: it should be {hint}") from error


def rate_limit(name: str, default: str) -> RateLimitItem | None:
    """Return how many calls are allowed in which time; None where `off` switches the limit off."""
    value = str(env.str(name, default="")).strip().lower() or default
    if value == "off":
        return None
    if not _RATE.fullmatch(value):
        hint = "a number of calls per second, minute or hour, such as 120/minute, or off"
        raise ImproperlyConfigured(f"{name} is wrong: it should be {hint}")
    return parse(value)


def fernet_keys(name: str) -> list[str]:
    """Return the comma-separated Fernet keys, newest first; the first encrypts, all decrypt."""
    hint = (
        "one or more Fernet keys, newest first, separated by commas (make one with: "
        'python -c "from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())")'
    )
    keys = [key.strip() for key in required(name, hint).split(",") if key.strip()]
    for key in keys:
        try:
            Fernet(key)
        except ValueError:
            # `from None`: the traceback must not show the key.
            raise ImproperlyConfigured(f"{name} is wrong: it should be {hint}") from None
    return keys
