"""Find the client's address. X-Forwarded-For is trusted only for the proxies in `TRUSTED_PROXIES`.

The library python-ipware is no substitute. The library doesn't check whether the peer is a trusted proxy. The library
also skips invalid entries, so it miscounts the proxies.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from django.conf import settings
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

Address = IPv4Address | IPv6Address
_IPV6_CUSTOMER_BITS = 64


def client_address(request: HttpRequest) -> Address | None:
    """Return the client's address, or None if the server has none (a Unix socket without trusted proxies)."""
    # If a header is repeated, gunicorn joins its values with commas, in order.
    return forwarded_address(
        request.META.get("REMOTE_ADDR", ""), [request.META.get("HTTP_X_FORWARDED_FOR", "")]
    )


def forwarded_address(peer_text: str, lines: Iterable[str]) -> Address | None:
    """Return the client's address for a connection from `peer_text`. `lines` are its X-Forwarded-For headers, in order.

    Each proxy adds an entry at the right. A client can forge only the entries to the left of the proxies' entries. If
    `TRUSTED_PROXIES` is the number n, return entry n from the right. If the setting lists networks, return the first
    address from the right that is in none of them.
    """
    peer = _parsed(peer_text)
    # An empty entry counts too: a proxy writes an empty entry if it doesn't know the address of its client.
    forwarded = [_parsed(entry) for entry in ",".join(lines).split(",")]
    trusted = settings.TRUSTED_PROXIES
    if isinstance(trusted, int):
        if trusted == 0:
            return peer
        return forwarded[-min(trusted, len(forwarded))] or peer
    client = peer
    # A peer without an address uses a Unix socket on this machine, so the peer is trusted.
    for entry in reversed(forwarded):
        if client is not None and not any(client in network for network in trusted):
            break
        if entry is None:
            break
        client = entry
    return client


def client_identity(request: HttpRequest) -> str:
    return identity_of(client_address(request))


def identity_of(address: Address | None) -> str:
    """Return the key by which rate limits count a client: the IPv4 address, or the /64 network of an IPv6 address."""
    if isinstance(address, IPv6Address):
        return str(IPv6Network((int(address), _IPV6_CUSTOMER_BITS), strict=False))
    return str(address or "unknown")


def client_digest(request: HttpRequest) -> str:
    """Return an HMAC of the client's identity, in 64 hex characters that don't reveal the address."""
    return salted_hmac("quittance.client", client_identity(request), algorithm="sha256").hexdigest()


def _parsed(text: str) -> Address | None:
    """Return the address in `text`, or None. A port is ignored, as in `192.0.2.1:443` and `[2001:db8::1]:443`."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        # Drop the zone (`%eth0`): it is a network interface of the proxy.
        return address.ipv4_mapped or IPv6Address(int(address))
    return address
