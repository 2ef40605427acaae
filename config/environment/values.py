"""Parsers of settings that are not addresses. Each returns the value of a text, or raises Wrong."""

import re
from collections.abc import Callable
from decimal import Decimal
from email.utils import getaddresses
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from urllib.parse import unquote

from cryptography.fernet import Fernet
from limits import RateLimitItem
from limits import parse as parse_limit

from config.environment.wrong import Wrong

SHORTEST_KEY = 32
# Django's threshold for a key that was typed instead of generated.
_MIN_DIFFERENT_CHARACTERS = 5
MAX_PROXIES = 16

_RATE = re.compile(r"[1-9][0-9]{0,8}/(second|minute|hour)")
_HEADER_VALUE = re.compile(r"[\x21-\x7e]{0,500}")
_HEADER = re.compile(r"\s*([A-Za-z0-9_.-]{1,100})\s*=\s*([\x21-\x7e]{1,2000})\s*")
_HOST_NAME = re.compile(r"\.?[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?")
_SENDER = re.compile(r"[^\s@<>,;:\"]+@[^\s@<>,;:\"]+")


def refuse_control_characters(text: str) -> None:
    """Raise Wrong for line breaks, other control characters, and bytes that are not UTF-8."""
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise Wrong("contains a line break or another control character")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise Wrong("is not UTF-8")


def boolean(text: str) -> bool:
    """Parse a boolean. Raises Wrong for any other word."""
    if text.lower() in ("true", "1", "yes", "on"):
        return True
    if text.lower() in ("false", "0", "no", "off"):
        return False
    raise Wrong("is neither True nor False")


def whole(fewest: int, most: int) -> Callable[[str], int]:
    """Return a parser of whole numbers between `fewest` and `most`, both included."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"-?[0-9]+", text):
            raise Wrong("is not a whole number")
        # Python refuses to read thousands of digits; so many are out of range in any case.
        if len(text) > 20 or not fewest <= int(text) <= most:
            raise Wrong("is out of range")
        return int(text)

    return parse


def percent(most: int) -> Callable[[str], Decimal]:
    """Return a parser of a percentage above 0 and up to `most`; it returns the share, such as 0.01 for 1."""

    def parse(text: str) -> Decimal:
        match = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,4})?)\s*%?", text)
        if match is None:
            raise Wrong("is not a percentage")
        if not 0 < Decimal(match[1]) <= most:
            raise Wrong("is out of range")
        return Decimal(match[1]) / 100

    return parse


def one_of(*choices: str) -> Callable[[str], str]:
    """Return a parser of a word that is one of `choices`, all of which are in upper or all in lower case."""

    def parse(text: str) -> str:
        for choice in choices:
            if text.lower() == choice.lower():
                return choice
        raise Wrong("is unknown")

    return parse


def words(*known: str) -> Callable[[str], list[str]]:
    """Return a parser of comma-separated words of `known`, in order, each once; `off` is none at all."""

    def parse(text: str) -> list[str]:
        if text.lower() == "off":
            return []
        found = _parts(text.lower())
        for word in found:
            if word not in known:
                raise Wrong("is unknown", word)
            if found.count(word) > 1:
                raise Wrong("is named twice", word)
        return found

    return parse


def matching(pattern: str) -> Callable[[str], str]:
    """Return a parser of a text that matches all of `pattern`."""

    def parse(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise Wrong("has the wrong form")
        return text

    return parse


def secret_key(text: str) -> str:
    """Return a key that is long enough and doesn't repeat a single character."""
    if len(text) < SHORTEST_KEY:
        raise Wrong(f"has only {len(text)} characters")
    if len(set(text)) < _MIN_DIFFERENT_CHARACTERS:
        raise Wrong("is not random")
    return text


def fernet_keys(text: str) -> list[str]:
    """Return the Fernet keys, newest first; the first encrypts, all decrypt."""
    keys = _parts(text)
    for number, key in enumerate(keys, 1):
        try:
            Fernet(key)
        except ValueError:
            # `from None`: a traceback must not show the key.
            raise Wrong(f"has a key (number {number}) that is not a Fernet key") from None
    return keys


def header_value(text: str) -> str:
    """Return a secret that is sent in an HTTP header."""
    if not _HEADER_VALUE.fullmatch(text):
        raise Wrong("has blanks or other characters that a header can't carry, or is too long")
    return text


def headers(text: str) -> dict[str, str]:
    """Return the headers of `NAME=VALUE,NAME=VALUE` with percent-encoded values; none for no text."""
    found: dict[str, str] = {}
    for part in _parts(text) if text else ():
        match = _HEADER.fullmatch(part)
        value = unquote(match[2]) if match else ""
        if match is None or not re.fullmatch(r"[\x20-\x7e]+", value):
            raise Wrong("has a part that is not a header")
        found[match[1].lower()] = value
    return found


def hosts(text: str) -> list[str]:
    """Return the host names: `*` for all, `.example.com` for a domain and all its subdomains; none for no text."""
    found = [part.strip() for part in text.split(",") if part.strip()]
    for host in found:
        if host != "*" and not _is_ip(host) and not _HOST_NAME.fullmatch(host):
            raise Wrong("is not a host name", host)
    return found


def _is_ip(host: str) -> bool:
    """Whether it is an address as it appears in a Host header: of IPv6, in brackets."""
    try:
        if host.startswith("[") and host.endswith("]"):
            return ip_address(host[1:-1]).version == 6
        return ip_address(host).version == 4
    except ValueError:
        return False


def networks(text: str) -> list[IPv4Network | IPv6Network]:
    """Return addresses and networks, separated by commas; none for an empty text."""
    found: list[IPv4Network | IPv6Network] = []
    for part in _parts(text) if text else ():
        try:
            found.append(ip_network(part))
        except ValueError:
            raise Wrong("is neither an address nor a network", part) from None
    return found


def proxies(text: str) -> int | list[IPv4Network | IPv6Network]:
    """Return the number of proxies in front of the service, or their networks."""
    if re.fullmatch(r"-?[0-9]+", text):
        return whole(0, MAX_PROXIES)(text)
    networks: list[IPv4Network | IPv6Network] = []
    for part in _parts(text):
        try:
            network = ip_network(part)
        except ValueError:
            raise Wrong("is not a network", part) from None
        if network.prefixlen == 0:
            raise Wrong("is every address there is, so that any client could claim any address", part)
        networks.append(network)
    return networks


def rate_limit(text: str) -> RateLimitItem | None:
    """Return the allowed calls and the period; None for `off`."""
    if text.lower() == "off":
        return None
    if not _RATE.fullmatch(text.lower()):
        raise Wrong("is not a rate")
    return parse_limit(text.lower())


def optional_rate_limit(text: str) -> str:
    """Return the text of a rate limit, checked, or an empty text for none of its own."""
    if text:
        rate_limit(text)
    return text


def sender(text: str) -> str:
    """Return the address that mails come from, with or without a name; an empty text for the default one."""
    if not text:
        return text
    found = getaddresses([text])
    if len(found) != 1 or not _SENDER.fullmatch(found[0][1]):
        raise Wrong("is not a mail address")
    return text


def _parts(text: str) -> list[str]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise Wrong("is empty")
    return parts
