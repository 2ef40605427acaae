"""The client address of a request: X-Forwarded-For is trusted only for the hops in `TRUSTED_PROXIES`.

python-ipware is no substitute: it doesn't check that the peer is a trusted proxy, and it skips invalid entries, which
shifts its count of hops.
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
    # gunicorn joins repeated lines with commas, in order.
    return forwarded_address(
        request.META.get("REMOTE_ADDR", ""), [request.META.get("HTTP_X_FORWARDED_FOR", "")]
    )


def forwarded_address(peer_text: str, lines: Iterable[str]) -> Address | None:
    """Return the client's address for a connection from `peer_text` with these X-Forwarded-For lines, in order.

    If `TRUSTED_PROXIES` is a number, return the entry that the outermost proxy added. Entries are counted from the
    right over all lines, because a proxy may add a separate line. If it lists networks, return the first address from
    the right that is in none of them. A client may forge all entries further left.
    """
    peer = _parsed(peer_text)
    # An empty entry counts: a proxy that doesn't know its client's address may write one.
    forwarded = [_parsed(entry) for entry in ",".join(lines).split(",")]
    trusted = settings.TRUSTED_PROXIES
    if isinstance(trusted, int):
        if trusted == 0:
            return peer
        return forwarded[-min(trusted, len(forwarded))] or peer
    client = peer
    # A peer without an address is on a Unix socket, which is not reachable over a network.
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
    """Return the identity that limits count: an IPv4 address, or the /64 of an IPv6 customer."""
    if isinstance(address, IPv6Address):
        return str(IPv6Network((int(address), _IPV6_CUSTOMER_BITS), strict=False))
    return str(address or "unknown")


def client_digest(request: HttpRequest) -> str:
    """Return a keyed digest of the client's identity (64 hex characters), which reveals no address."""
    return salted_hmac("quittance.client", client_identity(request), algorithm="sha256").hexdigest()


def _parsed(text: str) -> Address | None:
    """Return the address in `text`, which may carry a port (`192.0.2.1:443`, `[2001:db8::1]:443`), or None."""
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
        # Drop the zone, which names a network interface of the proxy.
        return address.ipv4_mapped or IPv6Address(int(address))
    return address
