"""Web addresses that merchants hand in: one set of syntax rules for all of them (contract 5 and 9).

Only syntax is judged here. Where the service itself calls an address, `webhooks.dispatch.http_client` judges where it
leads.
"""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import idna

from config.api.serializers import has_unsafe_characters

MAX_LENGTH = 2048
_PORTS = {"http": 80, "https": 443}
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_BRACKETED = re.compile(r"\[[^][]*\](:[0-9]*)?")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
# What RFC 3986 lets stand in a path and a query as it is; anything else goes percent-encoded as UTF-8.
_SAFE_IN_TARGET = "%/:?@!$&'()*+,;=-._~[]"


@dataclass(frozen=True)
class WebAddress:
    """An absolute http(s) address taken apart.

    `host` is in lower case and ASCII (an IPv6 literal without brackets), `target` the path and query as sent.
    """

    scheme: str
    host: str
    port: int
    target: str


def parse_web_address(text: str, *, allow_http: bool) -> str:
    """Return `text` unchanged if it is an absolute https address (http only with `allow_http`).

    Raises ValueError with a sentence for people: what was wrong, and what would be right.
    """
    split_web_address(text, allow_http=allow_http)
    return text


def split_web_address(text: str, *, allow_http: bool) -> WebAddress:
    """Return the parts of `text`; raises ValueError as `parse_web_address` does.

    Refused besides other schemes: over 2,048 characters, credentials, blanks, control characters, backslashes
    (which parsers read in different ways), hosts that are no DNS name or IP address, ports outside 1 to
    65535.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"The URL has {len(text):,} characters; at most {MAX_LENGTH:,} are accepted.")
    if has_unsafe_characters(text) or "\\" in text or any(character.isspace() for character in text):
        raise ValueError("The URL holds a blank, a backslash or a control character; percent-encode it.")
    not_absolute = f"The URL should be an absolute {'http(s)' if allow_http else 'https'} address."
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError(not_absolute) from None
    scheme = parts.scheme.lower()
    if scheme not in _PORTS or not parts.netloc:
        raise ValueError(not_absolute)
    if scheme == "http" and not allow_http:
        raise ValueError("The URL should begin with https://; http is not accepted.")
    if "@" in parts.netloc:
        raise ValueError("The URL holds credentials; leave out what stands before the @.")
    if "[" in parts.netloc and (":" not in (parts.hostname or "") or not _BRACKETED.fullmatch(parts.netloc)):
        raise ValueError("The URL's host stands in brackets, which only an IPv6 address does, alone.")
    if port == 0 or parts.netloc.endswith(":"):
        raise ValueError("The URL's port should be a number from 1 to 65535, or left out.")
    target = quote(parts.path or "/", safe=_SAFE_IN_TARGET)
    if parts.query:
        target += "?" + quote(parts.query, safe=_SAFE_IN_TARGET)
    return WebAddress(scheme, _host(parts.hostname or ""), port or _PORTS[scheme], target)


def parse_origin(text: str, *, allow_http: bool) -> str:
    """Return the origin `scheme://host[:port]` that `text` is, as browsers write it.

    It goes into a Content-Security-Policy header, so nothing but an origin is taken. Raises ValueError as
    `parse_web_address` does, and for a path, query or fragment.
    """
    address = split_web_address(text, allow_http=allow_http)
    if address.target != "/" or "?" in text or "#" in text:
        raise ValueError(f"{text} should be an origin such as https://shop.example.com, without a path.")
    host = f"[{address.host}]" if ":" in address.host else address.host
    usual = address.port == _PORTS[address.scheme]
    return f"{address.scheme}://{host}" if usual else f"{address.scheme}://{host}:{address.port}"


def _host(host: str) -> str:
    """Return the host in ASCII. IPv4 counts only in its usual form: 0x7f.1 is refused, not guessed at."""
    problem = "The URL's host should be a domain name or an IP address."
    if ":" in host:
        try:
            address = ipaddress.IPv6Address(host)
        except ValueError:
            raise ValueError(problem) from None
        if address.scope_id is not None:
            raise ValueError("The URL's host names a network zone; leave out the % and what follows.")
        return str(address)
    try:
        name = host if host.isascii() else idna.encode(host, uts46=True).decode("ascii")
    except idna.IDNAError:
        raise ValueError(problem) from None
    name = name.removesuffix(".")
    labels = name.split(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError(problem)
    if _NUMERIC.fullmatch(labels[-1]):
        try:
            return str(ipaddress.IPv4Address(name))
        except ValueError:
            raise ValueError(problem) from None
    return name
