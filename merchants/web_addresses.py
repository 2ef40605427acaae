"""Validate URLs from merchants.

Only the syntax is checked here. Before the service calls a URL, `webhooks.dispatch.http_client` checks its IP address.
"""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import idna
from django.conf import settings

from config.api.serializers import has_unsafe_characters

MAX_LENGTH = 2048
_PORTS = {"http": 80, "https": 443}
_SPACE = re.compile(r"\s")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_BRACKETED = re.compile(r"\[[^][]*\](:[0-9]*)?")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
# The characters that may be in a path and a query (RFC 3986). All other characters are percent-encoded as UTF-8.
_SAFE_IN_TARGET = "%/:?@!$&'()*+,;=-._~[]"


@dataclass(frozen=True)
class WebAddress:
    """The parts of an absolute http(s) URL.

    `host` is in lower case and ASCII. An IPv6 address has no brackets. `target` is the path with the query, as a
    request line contains them.
    """

    scheme: str
    host: str
    port: int
    target: str


def parse_web_address(text: str, *, allow_http: bool) -> str:
    """Return `text` unchanged if it is an absolute https URL. With `allow_http`, http URLs are valid too.

    Raises ValueError with a message for the merchant.
    """
    split_web_address(text, allow_http=allow_http)
    return text


def split_web_address(text: str, *, allow_http: bool) -> WebAddress:
    """Return the parts of `text`. Raises ValueError with a message for the merchant.

    Rejects schemes other than https (and http, with `allow_http`), more than 2,048 characters, credentials, whitespace,
    control characters, invalid hosts, and ports outside 1 to 65535. Rejects backslashes too, because parsers differ on
    them.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"The URL has {len(text):,} characters; at most {MAX_LENGTH:,} are accepted.")
    if has_unsafe_characters(text) or "\\" in text or _SPACE.search(text):
        raise ValueError("The URL contains a space, a backslash or a control character. Percent-encode it.")
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
        raise ValueError("The URL contains credentials. Remove the part before the @.")
    if "[" in parts.netloc and (":" not in (parts.hostname or "") or not _BRACKETED.fullmatch(parts.netloc)):
        raise ValueError("The URL's host is in brackets. Use brackets only around an IPv6 address.")
    if port == 0 or parts.netloc.endswith(":"):
        raise ValueError("The URL's port should be a number from 1 to 65535, or left out.")
    target = quote(parts.path or "/", safe=_SAFE_IN_TARGET)
    if parts.query:
        target += "?" + quote(parts.query, safe=_SAFE_IN_TARGET)
    return WebAddress(scheme, _host(parts.hostname or ""), port or _PORTS[scheme], target)


def parse_origin(text: str) -> str:
    """Return the origin `scheme://host[:port]`, normalised as browsers do.

    The origin becomes a part of the Content-Security-Policy header. Raises ValueError as `parse_web_address` does, and
    also if `text` has a path, query or fragment.
    """
    address = split_web_address(text, allow_http=settings.ALLOW_HTTP_URLS)
    if address.target != "/" or "?" in text or "#" in text:
        raise ValueError(f"{text} should be an origin such as https://shop.example.com, without a path.")
    host = f"[{address.host}]" if ":" in address.host else address.host
    usual = address.port == _PORTS[address.scheme]
    return f"{address.scheme}://{host}" if usual else f"{address.scheme}://{host}:{address.port}"


def _host(host: str) -> str:
    """Return the host in ASCII. Reject unusual forms of IPv4 addresses, such as 0x7f.1."""
    problem = "The URL's host should be a domain name or an IP address."
    if ":" in host:
        try:
            address = ipaddress.IPv6Address(host)
        except ValueError:
            raise ValueError(problem) from None
        if address.scope_id is not None:
            raise ValueError("The URL's host contains a zone ID. Remove the % and the part after it.")
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
