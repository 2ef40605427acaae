"""Clients outside ADMIN_ALLOWED_IPS can't reach the portal. All other pages are open to them."""

from ipaddress import ip_network

import pytest
from django.test import Client
from pytest_django import Settings

pytestmark = pytest.mark.django_db

PAGES = ["/admin", "/admin/", "/admin/login/", "/admin/payments/payment/", "/admin/no-such-page/"]


@pytest.fixture
def listed(settings: Settings) -> None:
    settings.ADMIN_ALLOWED_IPS = [ip_network("203.0.113.0/24"), ip_network("2001:db8::/48")]


def _status(path: str, address: str, **headers: str) -> int:
    return Client().get(path, REMOTE_ADDR=address, headers=headers).status_code


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("address", ["198.51.100.7", "2001:db9::1", ""])
def test_other_clients_get_404_for_each_page(listed: None, path: str, address: str) -> None:
    assert _status(path, address) == 404


def test_they_cannot_sign_in_either(listed: None) -> None:
    form = {"username": "olga", "password": "correct horse"}
    assert Client().post("/admin/login/", form, REMOTE_ADDR="198.51.100.7").status_code == 404


@pytest.mark.parametrize("address", ["203.0.113.7", "2001:db8:0:1::5", "::ffff:203.0.113.7"])
def test_listed_clients_reach_the_form(listed: None, address: str) -> None:
    assert _status("/admin/login/", address) == 200


@pytest.mark.parametrize("path", ["/healthz", "/api/public/chains", "/pay/no-such-code", "/administration"])
def test_what_is_not_the_admin_answers_as_ever(listed: None, settings: Settings, path: str) -> None:
    answered = _status(path, "198.51.100.7")
    settings.ADMIN_ALLOWED_IPS = []
    assert answered == _status(path, "198.51.100.7")


def test_an_empty_list_allows_every_client(settings: Settings) -> None:
    settings.ADMIN_ALLOWED_IPS = []
    assert _status("/admin/login/", "198.51.100.7") == 200


def test_a_header_counts_only_from_a_trusted_proxy(listed: None, settings: Settings) -> None:
    forged = {"X-Forwarded-For": "203.0.113.7"}
    settings.TRUSTED_PROXIES = 0
    assert _status("/admin/login/", "198.51.100.7", **forged) == 404
    settings.TRUSTED_PROXIES = [ip_network("10.0.0.0/8")]
    assert _status("/admin/login/", "10.0.0.1", **forged) == 200
    beside = {"X-Forwarded-For": "203.0.113.7, 198.51.100.7"}
    assert _status("/admin/login/", "10.0.0.1", **beside) == 404
