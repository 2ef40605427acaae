"""Parsers of settings that are not addresses. Each returns the parsed value or raises Wrong."""

import json
import re
from collections.abc import Callable
from decimal import Decimal
from email.utils import getaddresses
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from urllib.parse import unquote

from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from limits import RateLimitItem
from limits import parse as parse_limit

from config.environment.wrong import Wrong

SHORTEST_KEY = 32
# Django warns if a key has fewer different characters, because such a key is probably not random.
_MIN_DIFFERENT_CHARACTERS = 5
MAX_PROXIES = 16
# The order of the curve secp256k1. A private key must be less than this order.
_ORDER = 0xFFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFE_BAAEDCE6_AF48A03B_BFD25E8C_D0364141

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_KEY_PAIR_BYTES = 64
_LONGEST_KEY_PAIR = 400

_RATE = re.compile(r"[1-9][0-9]{0,8}/(second|minute|hour)")
_HEADER_VALUE = re.compile(r"[\x21-\x7e]{0,500}")
_HEADER = re.compile(r"\s*([A-Za-z0-9_.-]{1,100})\s*=\s*([\x21-\x7e]{1,2000})\s*")
_HOST_NAME = re.compile(r"\.?[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?")
_SENDER = re.compile(r"[^\s@<>,;:\"]+@[^\s@<>,;:\"]+")


def reject_control_characters(text: str) -> None:
    """Raise Wrong for line breaks, for other control characters, and for bytes that aren't UTF-8."""
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise Wrong("contains a line break or another control character")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise Wrong("is not UTF-8")


def boolean(text: str) -> bool:
    if text.lower() in ("true", "1", "yes", "on"):
        return True
    if text.lower() in ("false", "0", "no", "off"):
        return False
    raise Wrong("is neither True nor False")


def whole(minimum: int, maximum: int) -> Callable[[str], int]:
    """Return a parser of whole numbers from `minimum` to `maximum`."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"-?[0-9]+", text):
            raise Wrong("is not a whole number")
        # Python can't parse thousands of digits.
        if len(text) > 20 or not minimum <= int(text) <= maximum:
            raise Wrong("is out of range")
        return int(text)

    return parse


def percent(maximum: int) -> Callable[[str], Decimal]:
    """Return a parser of percentages above 0, up to `maximum`. The parser returns a fraction, such as 0.01 for "1"."""

    def parse(text: str) -> Decimal:
        match = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,4})?)\s*%?", text)
        if match is None:
            raise Wrong("is not a percentage")
        if not 0 < Decimal(match[1]) <= maximum:
            raise Wrong("is out of range")
        return Decimal(match[1]) / 100

    return parse


def one_of(*choices: str) -> Callable[[str], str]:
    """Return a parser of a word that is one of `choices`, in any letter case."""

    def parse(text: str) -> str:
        for choice in choices:
            if text.lower() == choice.lower():
                return choice
        raise Wrong("is unknown")

    return parse


def words(*known: str) -> Callable[[str], list[str]]:
    """Return a parser of comma-separated words.

    Each word is one of `known` and occurs once. The text `off` is an empty list.
    """

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

    def parse(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise Wrong("has the wrong form")
        return text

    return parse


def secret_key(text: str) -> str:
    if len(text) < SHORTEST_KEY:
        raise Wrong(f"has only {len(text)} characters")
    if len(set(text)) < _MIN_DIFFERENT_CHARACTERS:
        raise Wrong("is not random")
    return text


def fernet_keys(text: str) -> list[str]:
    """Return the Fernet keys, newest first. The first key encrypts. Any of the keys can decrypt."""
    keys = _parts(text)
    for number, key in enumerate(keys, 1):
        try:
            Fernet(key)
        except ValueError:
            # `from None`: a traceback must not show the key.
            raise Wrong(f"has a key (number {number}) that is not a Fernet key") from None
    return keys


def private_key(text: str) -> str:
    """Return a private key of secp256k1 as hex with 0x, or an empty text."""
    digits = text.lower().removeprefix("0x")
    if not text:
        return ""
    if not re.fullmatch(r"[0-9a-f]{64}", digits) or not 0 < int(digits, 16) < _ORDER:
        raise Wrong("is not a private key in hex")
    return "0x" + digits


def key_pair(text: str) -> str:
    """Return an ed25519 key pair as hex, or an empty text. The setting is its 64 bytes, in base58 or as a JSON list."""
    if not text:
        return ""
    try:
        pair = _key_pair_bytes(text)
        public = Ed25519PrivateKey.from_private_bytes(pair[:32]).public_key().public_bytes_raw()
    except (ValueError, TypeError, RecursionError):
        # `from None`: a traceback must not show the key.
        raise Wrong("is not a key pair of Solana") from None
    if public != pair[32:]:
        raise Wrong("has a public key that does not belong to its private key")
    return pair.hex()


def _key_pair_bytes(text: str) -> bytes:
    """Decode a JSON list of numbers, or base58. Raises ValueError and TypeError."""
    if len(text) > _LONGEST_KEY_PAIR:
        raise ValueError
    if text.startswith("["):
        pair = bytes(json.loads(text))
    else:
        number = 0
        for character in text:
            number = number * len(_BASE58) + _BASE58.index(character)
        zeros = len(text) - len(text.lstrip(_BASE58[0]))
        pair = bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8)
    if len(pair) != _KEY_PAIR_BYTES:
        raise ValueError
    return pair


def budgets(text: str) -> dict[int, Decimal]:
    """Parse `chain:amount,chain:amount` into amounts by chain id."""
    amounts: dict[int, Decimal] = {}
    for part in _parts(text) if text else ():
        chain, _, amount = part.partition(":")
        if not re.fullmatch(r"[1-9][0-9]{0,18}", chain) or not re.fullmatch(
            r"[0-9]{1,9}(\.[0-9]{1,18})?", amount
        ):
            raise Wrong("is not chain:amount", part)
        if int(chain) in amounts:
            raise Wrong("names its chain twice", part)
        amounts[int(chain)] = Decimal(amount)
    return amounts


def header_value(text: str) -> str:
    if not _HEADER_VALUE.fullmatch(text):
        raise Wrong("has blanks or other characters that are invalid in a header, or is too long")
    return text


def headers(text: str) -> dict[str, str]:
    """Return the headers of `NAME=VALUE,NAME=VALUE` with percent-encoded values."""
    found: dict[str, str] = {}
    for part in _parts(text) if text else ():
        match = _HEADER.fullmatch(part)
        value = unquote(match[2]) if match else ""
        if match is None or not re.fullmatch(r"[\x20-\x7e]+", value):
            raise Wrong("has a part that is not a header")
        found[match[1].lower()] = value
    return found


def hosts(text: str) -> list[str]:
    """Return the host names. `*` allows all hosts, and `.example.com` a domain with all its subdomains."""
    found = [part.strip() for part in text.split(",") if part.strip()]
    for host in found:
        if host != "*" and not _is_ip(host) and not _HOST_NAME.fullmatch(host):
            raise Wrong("is not a host name", host)
    return found


def _is_ip(host: str) -> bool:
    """Return whether the name is an IP address as in a Host header. An IPv6 address needs brackets."""
    try:
        if host.startswith("[") and host.endswith("]"):
            return ip_address(host[1:-1]).version == 6
        return ip_address(host).version == 4
    except ValueError:
        return False


def networks(text: str) -> list[IPv4Network | IPv6Network]:
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
            raise Wrong("contains every address, so any client could forge its address", part)
        networks.append(network)
    return networks


def rate_limit(text: str) -> RateLimitItem | None:
    """Return the allowed number of calls and the period. Return None for `off`."""
    if text.lower() == "off":
        return None
    if not _RATE.fullmatch(text.lower()):
        raise Wrong("is not a rate")
    return parse_limit(text.lower())


def optional_rate_limit(text: str) -> str:
    """Return the text if it is a valid rate limit or empty."""
    if text:
        rate_limit(text)
    return text


def sender(text: str) -> str:
    """Return the sender of mails, with or without a name. An empty text means the default."""
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
