"""Private addresses are rejected both when an endpoint is set and when it is called."""

import ipaddress

import pytest
from pytest_django import Settings

from config.api.errors import ApiError
from webhooks.dispatch.http_client import Rules, check_url, post
from webhooks.dispatch.public_addresses import is_public

PRODUCTION = Rules(allow_http=True, allow_private=False)

PUBLIC = """
1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 172.15.255.255 172.32.0.1 192.167.255.255
192.169.0.1 198.17.255.255 198.20.0.1 223.255.255.255 2606:4700:4700::1111 2001:4860:4860::8888 2a00:1450::1
""".split()  # noqa: SIM905


@pytest.mark.parametrize("text", PUBLIC)
def test_it_is_public(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("port", [1, 22, 25, 79, 81, 442, 1023])
def test_low_ports_are_rejected(port: int, settings: Settings) -> None:
    with pytest.raises(ApiError) as refused:
        check_url(f"http://127.0.0.1:{port}/")
    assert refused.value.problems[0].code == "url_not_allowed"
    assert "port" in post(f"http://127.0.0.1:{port}/", b"", {}, rules=PRODUCTION, deadline=1).error


def test_public_address_and_unresolvable_name_are_accepted(settings: Settings) -> None:
    settings.ALLOW_HTTP_URLS = settings.WEBHOOK_ALLOW_PRIVATE = False
    check_url("https://1.1.1.1:8443/hook")
    check_url("https://not-registered-yet.invalid/hook")
