"""If a chain family was removed, the pages of its requests show the stored data, and the requests can't be paid."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from chains.models import Chain
from config.database import process_cache
from payments.models import Payment, PaymentRequest
from tests.conftest import Api

pytestmark = pytest.mark.django_db

OUTCOMES = (None, "overpaid", "failed", "bridge_refunded", "reorged")
HASH = "0x" + "ab" * 32


@pytest.fixture
def removed(
    request: pytest.FixtureRequest, api: Api, order: Callable[..., dict[str, Any]], settings: Any
) -> dict[str, Any]:
    """A request after a sandbox outcome. Its chain's family has been removed since."""
    settings.ENVIRONMENT = "staging"
    created: dict[str, Any] = api.post("/api/payment-requests", order()).json()
    if request.param is not None:
        path = f"/api/test/payment-requests/{created['id']}/simulate"
        assert api.post(path, {"outcome": request.param}).status_code == 200
    Payment.objects.update(is_simulated=False, network_fee=21_000, bound_by="reference")
    Chain.objects.update(chain_type="gone")
    process_cache.forget()
    return created


@pytest.mark.parametrize("removed", OUTCOMES, indirect=True)
def test_every_page_of_it_is_shown(
    removed: dict[str, Any], api: Api, public: Api, admin_client: Client
) -> None:
    request = PaymentRequest.objects.get()
    code, id = request.shortcode, removed["id"]
    payments = [
        f"/admin/payments/payment/{each.pk.replace('_', '_5F')}/change/" for each in request.payments.all()
    ]
    for path in (
        "/",
        f"/pay/{code}",
        f"/pay/{code}/by-hand",
        f"/pay/{code}/receipt",
        f"/pay/{code}/logo",
        "/admin/",
        "/admin/payments/paymentrequest/",
        f"/admin/payments/paymentrequest/{id}/change/",
        "/admin/payments/payment/",
        *payments,
        "/admin/chains/chain/",
        f"/admin/chains/chain/{request.chain_id}/change/",
        "/admin/chains/token/",
        f"/admin/chains/token/{request.token_id}/change/",
    ):
        assert admin_client.get(path).status_code in (200, 302, 404), path
    assert request.shortcode in admin_client.get(f"/pay/{code}", follow=True).content.decode()
    for path in (
        f"/api/payment-requests/{id}",
        "/api/payment-requests",
        f"/api/payment-requests/{id}/payments",
    ):
        assert api.get(path).status_code == 200, path
    assert public.get(f"/api/public/payment-requests/{id}").status_code == 200


@pytest.mark.parametrize("removed", ["underpaid"], indirect=True)
def test_nothing_can_be_paid(removed: dict[str, Any], api: Api, public: Api) -> None:
    request = PaymentRequest.objects.get()
    path = f"/api/public/payment-requests/{removed['id']}"
    page = Client().get(f"/pay/{request.shortcode}").content.decode()
    assert "ethereum:" not in page  # no wallet link
    wallet = {"wallet_address": "0x" + "5" * 40}
    number = request.payments.count()
    pay_with = {**wallet, "chain_id": request.chain_id, "token_id": request.token_id}
    sent = {"transaction_hash": HASH, "chain_id": request.chain_id}
    for answer in (
        public.post(f"{path}/routes", pay_with),
        public.post(f"{path}/balances/essential", wallet),
        public.post("/api/public/discover-wallet-tokens", wallet),
        public.post(f"{path}/payments", sent),
        api.post(f"/api/payment-requests/{removed['id']}/payments", sent),
        Client().post(
            f"/pay/{request.shortcode}/by-hand/sent", {"transaction": HASH, "chain_id": request.chain_id}
        ),
        Client().post(f"/pay/{request.shortcode}/by-hand/proof", wallet),
    ):
        assert answer.status_code < 500, (answer.wsgi_request.path, answer.content)
    assert request.payments.count() == number
    assert api.post(f"/api/payment-requests/{removed['id']}/cancel").status_code == 200
