"""More than 300 ways to make the service call an internal address. None of them reaches a canary server.

The canaries listen on the loopback interface, IPv4 and IPv6. Without a check, nearly every one of these URLs
would reach one. The address is written in a form about which parsers disagree. Or it is a name of the test's
name server, which leads to loopback at once or only at a second query.
"""

import ipaddress
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress

import pytest

from merchants.web_addresses import WebAddress
from tests.support.webhooks.raw_server import RawServer, raw_server
from tests.unit.webhooks.dispatch.name_server import NameServer, running_name_server
from webhooks.dispatch import http_client
from webhooks.dispatch.http_client import Rules, post

PRODUCTION = Rules(allow_http=False, allow_private=False)
WITH_HTTP = Rules(allow_http=True, allow_private=False)
PUBLIC = "1.1.1.1"
LOOPBACK_4 = ["127.0.0.1", "127.0.0.2", "127.1.2.3", "127.255.255.254", "0.0.0.0"]  # noqa: S104
FORBIDDEN_4 = """
0.0.0.1 10.0.0.1 10.1.2.3 10.255.255.254 100.64.0.1 100.100.100.200 100.127.255.254 168.63.129.16 169.254.0.1
169.254.169.254 169.254.169.253 169.254.170.2 169.254.42.42 172.16.0.1 172.20.10.2 172.31.255.254 192.0.0.1 192.0.0.8
192.0.0.170 192.0.0.192 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.1 192.168.1.1 192.168.255.254
192.175.48.1 198.18.0.1 198.19.255.254 198.51.100.1 203.0.113.1 224.0.0.1 224.0.0.251 239.255.255.250 240.0.0.1
250.1.2.3 255.255.255.255
""".split()  # noqa: SIM905
FORBIDDEN_6 = """
:: ::1 ::2 ::7f00:1 ::127.0.0.1 ::169.254.169.254 ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::169.254.169.254
64:ff9b::10.0.0.1 64:ff9b:1::1 64:ff9b:1:fffe::1 100::1 100:0:0:1::1 2001::1 2001:0:7f00:1:: 2001:1::1 2001:2::1
2001:3::1 2001:4:112::1 2001:10::1 2001:20::1 2001:30::1 2001:db8::1 2001:db8:ffff::1 2002:7f00:1:: 2002:7f00:0001::1
2002:a9fe:a9fe:: 2002:c0a8:101:: 2002:a00:1:: 2620:4f:8000::1 3fff::1 3fff:fff::1 4000::1 5f00::1 6000::1 8000::1
c000::1 e000::1 f000::1 f800::1 fc00::1 fc00:ec2::254 fd00::1 fd00:ec2::254 fd20:ce::254 fdff::1 fe00::1 fe80::1
fe80::a9fe:a9fe fec0::1 feff::1 ff01::1 ff02::1 ff02::fb ff05::2 ff0e::1 ffff::1
""".split()  # noqa: SIM905


def _ways_to_write(address: str) -> Iterator[str]:
    """Yield the notations of this IPv4 address that C's inet_aton or a browser accepts."""
    a, b, c, d = (int(part) for part in address.split("."))
    whole = int(ipaddress.IPv4Address(address))
    yield from (str(whole), hex(whole), "0" + oct(whole)[2:], f"{hex(whole).upper()}")
    yield from (f"{a}.{b * 65536 + c * 256 + d}", f"{a}.{b}.{c * 256 + d}")
    yield from (
        f"{hex(a)}.{hex(b)}.{hex(c)}.{hex(d)}",
        f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        f"{a:03}.{b:03}.{c:03}.{d:03}",
    )
    yield from (f"{hex(a)}.{b}.{c}.{d}", f"{a}.{b}.{c}.0{d:o}", f"{address}.")
    yield "".join(chr(ord("０") + int(x)) if x.isdigit() else "。" for x in address)
    yield f"[::ffff:{address}]"
    yield f"[::ffff:{whole >> 16:x}:{whole & 0xFFFF:x}]"


def _urls(port: int) -> dict[str, Rules]:
    """Return each URL that contains an address, with the most permissive rules for it."""
    hosts = [*LOOPBACK_4, *FORBIDDEN_4, *(f"[{address}]" for address in FORBIDDEN_6)]
    for address in ("127.0.0.1", "169.254.169.254", "10.0.0.1", "192.168.1.1"):
        hosts += _ways_to_write(address)
    hosts += ["0", "127.1", "127.0.1", "0x7f.1", "017700000001", "localhost", "LOCALHOST", "localhost."]
    hosts += [
        "[fe80::1%25lo]",
        "[::1%25lo]",
        "[0:0:0:0:0:0:0:1]",
        "[0000::0001]",
        "[::0:1]",
        "[::FFFF:7F00:1]",
    ]
    hosts += [
        "ⓛocalhost",
        "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
        "１２７.0.0.1",
        "127。0。0。1",
        "127.0.0.1%00",
        "127.0.0.1%2f",
        "%6cocalhost",
    ]
    urls = {f"https://{host}:{port}/": PRODUCTION for host in hosts}
    urls |= {f"http://{host}:{port}/": WITH_HTTP for host in hosts}
    here = f"127.0.0.1:{port}"
    odd = [
        f"http://{PUBLIC}@{here}/",
        f"http://{PUBLIC}:80@{here}/",
        f"http://user:password@{here}/",
        f"http://{here}#@{PUBLIC}/",
        f"http://{here}\\@{PUBLIC}/",
        f"http://{PUBLIC}\\@{here}/",
        f"http:\\\\{here}\\",
        f"http:/{here}/",
        f"http:{here}/",
        f"//{here}/",
        f"http:///{here}/",
        f" http://{here}/",
        f"http://{here}/ ",
        f"http://\t{here}/",
        f"ht\ntp://{here}/",
        f"http://{here}/\r\nX-Injected: yes",
        f"http://[{here}/",
        f"http://{here}:80/",
        "http://127.0.0.1:0/",
        "http://127.0.0.1:-1/",
        "http://127.0.0.1:65536/",
        "http://127.0.0.1:22/",
        "http://127.0.0.1:6379/",
        "file:///etc/passwd",
        "file://localhost/etc/passwd",
        f"ftp://{here}/",
        f"gopher://{here}/_POST",
        f"dict://{here}/info",
        f"ldap://{here}/",
        f"jar:http://{here}!/",
        f"data:text/plain,{here}",
        f"unix://{here}/",
        "javascript:alert(1)",
        f"HTTP://127.0.0.1.:{port}/",
    ]
    return urls | dict.fromkeys(odd, WITH_HTTP)


def _canaries(stack: ExitStack) -> tuple[int, list[RawServer]]:
    """Listen on one port of the loopback interface, with IPv4 and, if available, IPv6."""

    def count_only(connection: socket.socket, server: RawServer) -> None:
        connection.recv(1)

    canary = stack.enter_context(raw_server(count_only))
    canaries = [canary]
    if socket.has_ipv6:
        with suppress(OSError):  # this machine has no IPv6
            canaries.append(stack.enter_context(raw_server(count_only, host="::1", port=canary.port)))
    return canary.port, canaries


def test_no_way_of_writing_an_address_reaches_our_own() -> None:
    with ExitStack() as stack:
        port, canaries = _canaries(stack)
        urls = _urls(port)
        assert len(urls) >= 300
        reached = {}
        for url, rules in urls.items():
            answer = post(url, b"{}", {}, rules=rules, deadline=0.5)
            assert answer.status_code is None, url
            assert answer.error, url
            if any(canary.connections for canary in canaries):
                reached[url] = answer
                for canary in canaries:
                    canary.connections = 0
        assert reached == {}


@pytest.fixture(scope="module")
def names() -> Iterator[NameServer]:
    with running_name_server() as running:
        yield running


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "169.254.169.254", "8.8.8.8+127.0.0.1", "127.0.0.1+8.8.8.8"]
)
def test_name_of_a_forbidden_ipv4_address_is_not_called(names: NameServer, address: str) -> None:
    _not_called(names, names.say("a.hostile.example", {"A": address.split("+")}))


@pytest.mark.parametrize("address", ["::1", "::ffff:0:127.0.0.1", "fd00:ec2::254"])
def test_name_of_a_forbidden_ipv6_address_is_not_called(names: NameServer, address: str) -> None:
    _not_called(names, names.say("aaaa.hostile.example", {"AAAA": [address]}))
    _not_called(names, names.say("mixed.hostile.example", {"A": ["8.8.8.8"], "AAAA": [address]}))


def test_an_alias_of_a_forbidden_name_is_not_called(names: NameServer) -> None:
    names.say("localhost.hostile.example", {"A": ["127.0.0.1"]})
    _not_called(names, names.say("alias.hostile.example", {"CNAME": ["localhost.hostile.example"]}))


def test_one_forbidden_address_among_two_hundred_is_enough(names: NameServer) -> None:
    many = [f"8.8.{number // 250}.{number % 250 + 1}" for number in range(199)]
    _not_called(names, names.say("many.hostile.example", {"A": [*many, "127.0.0.1"]}))


def test_rebound_name_is_called_at_the_checked_address(
    names: NameServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: the name is public when it is checked, and a second lookup would return loopback."""
    called: list[Sequence[str]] = []

    def connect(address: WebAddress, checked: Sequence[str], *_: object) -> None:
        called.append(checked)
        raise ConnectionRefusedError  # tests make no call to the Internet

    monkeypatch.setattr(http_client, "connect", connect)
    name = names.say("rebinding.hostile.example", {"A": [PUBLIC]}, {"A": ["127.0.0.1"]})
    names.asked.clear()
    answer = post(f"http://{name}/", b"{}", {}, rules=WITH_HTTP, deadline=2, resolve=names.resolve)
    assert answer.error == "The connection was refused."
    assert called == [[PUBLIC]]
    assert names.asked == [(name, "A"), (name, "AAAA")]
    # At the second query, the name leads to loopback, so it is rejected.
    _not_called(names, name)
    assert called == [[PUBLIC]]


def _not_called(names: NameServer, name: str) -> None:
    with ExitStack() as stack:
        port, canaries = _canaries(stack)
        answer = post(f"http://{name}:{port}/", b"{}", {}, rules=WITH_HTTP, deadline=2, resolve=names.resolve)
        assert answer.error == "The URL leads to an address that is not on the public Internet."
        assert [canary.connections for canary in canaries] == [0] * len(canaries)
