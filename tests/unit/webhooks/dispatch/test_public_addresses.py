"""Only public addresses are called, and those are refused when they are set as well."""

import ipaddress
import socket

import pytest
from pytest_django import Settings

from config.api.errors import ApiError
from tests.support.webhooks.raw_server import RawServer, raw_server
from webhooks.dispatch.http_client import Rules, check_url, post
from webhooks.dispatch.public_addresses import is_public

PRODUCTION = Rules(allow_http=True, allow_private=False)

PRIVATE = """
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.1.2.3 168.63.129.16
169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.8 192.0.0.192 192.0.2.1 192.88.99.1
192.168.0.1 192.168.255.255 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1
255.255.255.255
:: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:8.8.8.8 64:ff9b::169.254.169.254 64:ff9b::8.8.8.8
64:ff9b:1::1 100::1 2001::1 2001:0:7f00:1:: 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1:: 2002:a9fe:a9fe::
3fff::1 5f00::1 fc00::1 fd00::1 fd00:ec2::254 fd20:ce::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1 ff0e::1 4000::1
""".split()  # noqa: SIM905 - a list of these reads better as text
PUBLIC = """
1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 172.15.255.255 172.32.0.1 192.167.255.255
192.169.0.1 198.17.255.255 198.20.0.1 223.255.255.255 2606:4700:4700::1111 2001:4860:4860::8888 2a00:1450::1
""".split()  # noqa: SIM905


@pytest.mark.parametrize("text", PRIVATE)
def test_it_is_not_public(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_it_is_public(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "127.0.0.1.", "LOCALHOST"])
def test_a_private_address_gets_not_one_connection(host: str) -> None:
    def behave(connection: socket.socket, server: RawServer) -> None:
        connection.recv(1)

    with raw_server(behave) as canary:
        answer = post(f"http://{host}:{canary.port}/", b"{}", {}, rules=PRODUCTION, deadline=2)
        assert canary.connections == 0
    assert answer.status_code is None
    assert answer.error == "The URL leads to an address that is not on the public Internet."


@pytest.mark.parametrize("host", ["0x7f.1", "2130706433", "017700000001", "127.1", "0", "0x7f000001"])
def test_disguised_addresses_are_not_called(host: str) -> None:
    answer = post(f"http://{host}/", b"{}", {}, rules=PRODUCTION, deadline=2)
    assert answer.status_code is None
    assert answer.error == "The URL's host should be a domain name or an IP address."


@pytest.mark.parametrize("port", [1, 22, 25, 79, 81, 442, 1023])
def test_low_ports_are_refused(port: int, settings: Settings) -> None:
    with pytest.raises(ApiError) as refused:
        check_url(f"http://127.0.0.1:{port}/")
    assert refused.value.problems[0].code == "url_not_allowed"
    assert "port" in post(f"http://127.0.0.1:{port}/", b"", {}, rules=PRODUCTION, deadline=1).error


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://127.0.0.1/", "url_not_allowed"),
        ("https://localhost:8443/", "url_not_allowed"),
        ("https://[::1]/", "url_not_allowed"),
        ("https://169.254.169.254/latest/meta-data", "url_not_allowed"),
        ("http://shop.example/", "url_invalid"),
        ("https://user:password@shop.example/", "url_invalid"),
        ("https://2130706433/", "url_invalid"),
        ("ftp://shop.example/", "url_invalid"),
        ("/hook", "url_invalid"),
        ("", "url_invalid"),
    ],
)
def test_in_production_it_cannot_be_set(url: str, code: str, settings: Settings) -> None:
    settings.ALLOW_HTTP_URLS = settings.WEBHOOK_ALLOW_PRIVATE = False
    with pytest.raises(ApiError) as refused:
        check_url(url, param="webhook_url")
    assert (refused.value.problems[0].code, refused.value.problems[0].param) == (code, "webhook_url")


def test_a_public_address_and_a_name_that_does_not_resolve_can_be_set(settings: Settings) -> None:
    settings.ALLOW_HTTP_URLS = settings.WEBHOOK_ALLOW_PRIVATE = False
    check_url("https://1.1.1.1:8443/hook")
    check_url("https://not-registered-yet.invalid/hook")
