"""With several X-Forwarded-For lines, the web and events processes see the same client, and never a forged one."""

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, cast

import h11
from django.core.handlers.wsgi import WSGIRequest
from django.test import override_settings
from gunicorn.config import Config
from gunicorn.http.message import Request
from gunicorn.http.unreader import IterUnreader
from gunicorn.http.wsgi import create
from hypothesis import given
from hypothesis import strategies as some

from checkout.streams.application import _address
from config.api.limits.client_address import client_identity

PROXIES = [ip_network("10.0.0.0/8"), ip_network("2001:db8:ffff::/48")]
Network = IPv4Network | IPv6Network
CLIENT = "198.51.100.7"
FORGED = "203.0.113.9"

_entries = some.one_of(
    some.ip_addresses().map(str),
    some.sampled_from(
        [
            "",
            "unknown",
            FORGED,
            "10.0.0.9",
            "[2001:db8::7]:443",
            "192.0.2.1:80",
            "fe80::1%eth0",
            "::ffff:10.0.0.1",
        ]
    ),
)
_names = some.sampled_from(["X-Forwarded-For", "x-forwarded-for", "X_Forwarded_For", "X-Forwarded-Host"])
_trusted = some.sampled_from([0, 1, 2, PROXIES])
_sent = some.lists(some.tuples(_names, some.lists(_entries, max_size=3).map(", ".join)), max_size=4)


def as_web_sees_it(peer: str, lines: Sequence[tuple[str, str]]) -> str:
    parsed = Request(Config(), IterUnreader([_head(lines)]), (peer, 4711))
    _, environ = create(parsed, None, (peer, 4711), ("127.0.0.1", 8000), Config())
    return client_identity(WSGIRequest(environ))


def as_events_sees_it(peer: str, lines: Sequence[tuple[str, str]]) -> str:
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(_head(lines))
    headers = list(cast(Any, connection.next_event()).headers)
    return _address({"type": "http", "client": (peer, 4711), "headers": headers})


def _head(lines: Sequence[tuple[str, str]]) -> bytes:
    fields = "".join(f"{name}: {value}\r\n" for name, value in lines)
    return f"GET / HTTP/1.1\r\nHost: testserver\r\n{fields}\r\n".encode()


def through_proxies(
    sent: Sequence[tuple[str, str]], hops: Sequence[str], own_lines: Sequence[bool]
) -> list[tuple[str, str]]:
    """Return the lines after each hop added its peer, to the last line or, like HAProxy, in a new line."""
    lines = list(sent)
    for hop, is_own_line in zip(hops, own_lines, strict=True):
        last = max(
            (i for i, (name, _) in enumerate(lines) if name.lower() == "x-forwarded-for"), default=None
        )
        if is_own_line or last is None:
            lines.append(("X-Forwarded-For", hop))
        else:
            lines[last] = (lines[last][0], f"{lines[last][1]}, {hop}")
    return lines


@given(trusted=_trusted, peer=some.sampled_from(["10.0.0.1", "192.0.2.1", "::1"]), lines=_sent)
def test_web_and_events_see_the_same_client(
    trusted: int | list[Network], peer: str, lines: list[tuple[str, str]]
) -> None:
    with override_settings(TRUSTED_PROXIES=trusted):
        assert as_web_sees_it(peer, lines) == as_events_sees_it(peer, lines)


@given(trusted=_trusted, sent=_sent, own_lines=some.lists(some.booleans(), min_size=2, max_size=2))
def test_forged_hops_are_never_the_client(
    trusted: int | list[Network], sent: list[tuple[str, str]], own_lines: list[bool]
) -> None:
    hops = [CLIENT, "10.0.0.2"]
    if isinstance(trusted, int):
        hops = hops[:trusted]
    lines = through_proxies(sent, hops, own_lines[: len(hops)])
    peer = "10.0.0.1" if hops else CLIENT
    with override_settings(TRUSTED_PROXIES=trusted):
        assert as_web_sees_it(peer, lines) == as_events_sees_it(peer, lines) == CLIENT


def test_line_added_by_haproxy_wins_over_the_clients(settings: Any) -> None:
    settings.TRUSTED_PROXIES = 1
    lines = [("X-Forwarded-For", FORGED), ("X-Forwarded-For", CLIENT)]
    assert as_events_sees_it("10.0.0.1", lines) == CLIENT


def test_client_address_has_no_ipv6_zone(settings: Any) -> None:
    settings.TRUSTED_PROXIES = 0
    with_zone, without = as_events_sees_it("fe80::1%eth0", []), as_events_sees_it("fe80::1", [])
    assert with_zone == without == str(ip_network((ip_address("fe80::"), 64)))
