"""The client address of a request: X-Forwarded-For is trusted only for the hops in `TRUSTED_PROXIES`."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from django.conf import settings
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

Address = IPv4Address | IPv6Address
_IPV6_CUSTOMER_BITS = 64


def client_address(request: HttpRequest) -> Address | None:
    """Return the client's address, or None where the server tells none (a Unix socket without trusted proxies).

    With a number of proxies it is the entry that the outermost of them added, counted from the right. With networks it
    is the first address from the right that lies outside of them. Anything further left may be forged.
    """
    peer = _parsed(request.META.get("REMOTE_ADDR", ""))
    forwarded = [_parsed(entry) for entry in request.headers.get("X-Forwarded-For", "").split(",")]
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
    """Return the client as it is counted: an IPv4 address, or the /64 that one IPv6 customer has to himself."""
    address = client_address(request)
    if isinstance(address, IPv6Address):
        return str(IPv6Network((int(address), _IPV6_CUSTOMER_BITS), strict=False))
    return str(address or "unknown")


def client_digest(request: HttpRequest) -> str:
    """Return a keyed digest of the client's identity (64 hex characters): it tells clients apart and names none."""
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
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
