"""The address under which calls are counted. Only entries of X-Forwarded-For from trusted proxies are used."""

from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from django.test import Client, RequestFactory
from limits import parse

from config.api.limits.client_address import client_address, client_identity

PROXIES = [ip_network("10.0.0.0/8"), ip_network("2001:db8:ffff::/48")]


def seen(peer: str, forwarded: str | None) -> Any:
    headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
    return RequestFactory(REMOTE_ADDR=peer).get("/", headers=headers)


@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded", "client"),
    [
        # Without trusted proxies, the header may be forged and is ignored.
        (0, "192.0.2.1", None, "192.0.2.1"),
        (0, "192.0.2.1", "198.51.100.7", "192.0.2.1"),
        # With one trusted proxy, use the last entry.
        (1, "10.0.0.1", "198.51.100.7", "198.51.100.7"),
        (1, "10.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7"),
        (1, "10.0.0.1", None, "10.0.0.1"),
        (1, "10.0.0.1", "unknown", "10.0.0.1"),
        (1, "", "198.51.100.7", "198.51.100.7"),
        # With two trusted proxies, use the last entry but one.
        (2, "10.0.0.1", "203.0.113.9, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
        (2, "10.0.0.1", "198.51.100.7", "198.51.100.7"),
        # With trusted networks, use the first address from the right outside of them.
        (PROXIES, "192.0.2.1", "198.51.100.7", "192.0.2.1"),
        (PROXIES, "10.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7"),
        (PROXIES, "10.0.0.1", "203.0.113.9, 198.51.100.7, 10.3.2.1, 10.0.0.2", "198.51.100.7"),
        (PROXIES, "2001:db8:ffff::1", "198.51.100.7", "198.51.100.7"),
        (PROXIES, "10.0.0.1", "10.0.0.9", "10.0.0.9"),
        (PROXIES, "10.0.0.1", "198.51.100.7, nonsense", "10.0.0.1"),
        (PROXIES, "10.0.0.1", None, "10.0.0.1"),
        (PROXIES, "", "203.0.113.9, 198.51.100.7", "198.51.100.7"),
        # Formats that proxies write.
        (1, "10.0.0.1", "198.51.100.7:4711", "198.51.100.7"),
        (1, "10.0.0.1", "[2001:db8::7]:4711", "2001:db8::7"),
        (1, "10.0.0.1", "::ffff:198.51.100.7", "198.51.100.7"),
    ],
)
def test_the_client_is(trusted: Any, peer: str, forwarded: str | None, client: str, settings: Any) -> None:
    settings.TRUSTED_PROXIES = trusted
    assert client_address(seen(peer, forwarded)) == ip_address(client)


@pytest.mark.parametrize(
    "forwarded", ["", ",", "x" * 5000, "1.2.3.4.5", "[", "[]", "::::", "\u0661.1.1.1", "%"]
)
@pytest.mark.parametrize("trusted", [0, 1, 3, PROXIES], ids=["none", "one", "three", "networks"])
def test_no_header_breaks_it(forwarded: str, trusted: Any, settings: Any) -> None:
    settings.TRUSTED_PROXIES = trusted
    assert client_identity(seen("10.0.0.1", forwarded)) == "10.0.0.1"
    assert client_identity(seen("", forwarded)) == "unknown"


def test_one_customer_of_ipv6_is_one_client(settings: Any) -> None:
    settings.TRUSTED_PROXIES = 0
    first, second, other = "2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:1:3::1"
    assert client_identity(seen(first, None)) == client_identity(seen(second, None)) == "2001:db8:1:2::/64"
    assert client_identity(seen(other, None)) != client_identity(seen(first, None))


@pytest.mark.django_db
@pytest.mark.usefixtures("patient")
def test_a_header_of_ones_own_buys_no_calls(settings: Any) -> None:
    settings.RATE_LIMIT_PUBLIC = parse("3/hour")
    for trusted, forwarded in ((0, "198.51.100.{}"), (1, "198.51.100.{}, 203.0.113.9")):
        settings.TRUSTED_PROXIES = trusted
        client = Client()
        seen = [
            client.get(
                "/api/public/chains", headers={"X-Forwarded-For": forwarded.format(number)}
            ).status_code
            for number in range(30)
        ]
        assert seen == [200] * 3 + [429] * 27
