"""The page loads WalletConnect only if there is a project id, and only while the request can be paid."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from checkout.integrity import integrity
from checkout.languages import language
from merchants.languages import LANGUAGES
from payments.models import PaymentRequest
from tests.conftest import Api

Create = Callable[..., dict[str, Any]]
SCRIPT = "/static/checkout/walletconnect.js"
RELAY = "wss://relay.example"


@pytest.fixture
def walletconnect(settings: Any) -> None:
    """WalletConnect is configured."""
    settings.WALLETCONNECT_PROJECT_ID = "0" * 32
    settings.WALLETCONNECT_RELAY_URL = RELAY


def test_page_without_a_project_id_names_no_walletconnect(public: Api, checkout: Create) -> None:
    response = public.get(f"/pay/{checkout()['shortcode']}")
    assert b"walletconnect" not in response.content.lower()
    assert "; connect-src 'self'; " in response["Content-Security-Policy"]
    assert not [tag for tag in LANGUAGES if "walletconnect" in str(language(tag).script_messages()).lower()]


@pytest.mark.usefixtures("walletconnect")
def test_policy_names_the_relay_and_the_scripts_digest(public: Api, checkout: Create) -> None:
    response = public.get(f"/pay/{checkout()['shortcode']}")
    assert b"walletconnect" in response.content.lower()
    assert f"; connect-src 'self' {RELAY}; " in response["Content-Security-Policy"]
    (import_map,) = re.findall(r'type="importmap">(.+?)</script>', response.content.decode())
    assert json.loads(import_map)["integrity"][SCRIPT] == integrity("checkout/walletconnect.js")


@pytest.mark.usefixtures("walletconnect")
def test_pages_that_can_not_pay_may_not_call_the_relay(public: Api, checkout: Create) -> None:
    request = checkout()
    for path in (f"/pay/{request['shortcode']}/by-hand", "/"):
        assert RELAY not in public.get(path)["Content-Security-Policy"]
    PaymentRequest.objects.update(status="cancelled")
    response = public.get(f"/pay/{request['shortcode']}")
    assert RELAY not in response["Content-Security-Policy"]
    assert b"data-walletconnect" not in response.content
