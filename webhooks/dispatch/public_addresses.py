"""Decide whether an IP address is on the public internet.

The service sends webhooks only to addresses on the public internet. Pure functions.

The tables follow the IANA special-purpose registries (RFC 6890 and its updates). `ipaddress.is_global` is not strict
enough: it is true for private addresses inside IPv6 addresses (NAT64, 6to4, IPv4-compatible).
"""

import ipaddress
from ipaddress import IPv4Address, IPv6Address

_REFUSED_V4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT; clouds have internal services here
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's platform service (in a public range)
        "169.254.0.0/16",  # link-local, including cloud metadata services
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments, including Oracle Cloud's metadata
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # multicast tunnelling
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
# IPv6 addresses outside this network are loopback, mapped, translated, unique-local, link-local, multicast or
# unassigned.
_GLOBAL_UNICAST_V6 = ipaddress.IPv6Network("2000::/3")
_REFUSED_V6 = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo, benchmarks, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which contains IPv4 addresses
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _REFUSED_V4)
    if address.scope_id is not None or address not in _GLOBAL_UNICAST_V6:
        return False
    return not any(address in network for network in _REFUSED_V6)
