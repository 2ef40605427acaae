"""One name for one thing: pages of the portal say "ID" and "Email", whatever their models call these fields."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chains.models import Chain, Token
from merchants.models import Merchant
from tests.support.payments.days import NOON, a_delivery, a_request

pytestmark = pytest.mark.django_db


@pytest.fixture
def token() -> Token:
    chain = Chain.objects.create(id=8453, name="Base", chain_type="evm", native_symbol="ETH")
    return Token.objects.create(
        chain=chain, symbol="USDC", name="USD Coin", decimals=6, contract_address="0x" + "2" * 40
    )


def labels(client: Client, path: str) -> set[str]:
    response = client.get(path)
    assert response.status_code == 200
    page = response.content.decode().partition('id="content"')[2]
    found = re.findall(r"<(?:label|th|dt)\b[^>]*>(.*?)</(?:label|th|dt)>", page, re.DOTALL)
    return {re.sub(r"<[^>]+>|\s+", " ", each).strip(" *:") for each in found}


def test_an_id_is_an_id_and_an_email_an_email_everywhere(
    admin_client: Client, merchant: Merchant, token: Token
) -> None:
    request, delivery = a_request(merchant, token, NOON), a_delivery(merchant, NOON)
    user = User.objects.get()
    said: set[str] = set()
    for path in (
        f"merchants/merchant/{merchant.pk}/change",
        "merchants/merchant/add",
        f"chains/chain/{token.chain_id}/change",
        f"chains/token/{token.pk}/change",
        f"auth/user/{user.pk}/change",
        "auth/user/add",
        "auth/user",
        f"payments/paymentrequest/{request.pk}/change",
        f"webhooks/delivery/{delivery.pk}/change",
    ):
        said |= labels(admin_client, f"/admin/{path}/")
    assert {"ID", "Email", "Support email"} <= said
    assert {
        "Active",
        "Block time (ms)",
        "Bind transactions with a reference",
    } <= said  # the pages' own labels stay
    assert not {each for each in said if re.search(r"\bId\b|E-mail|Email address", each)}
