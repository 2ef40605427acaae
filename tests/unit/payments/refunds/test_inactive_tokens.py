"""A refund can be built even if its token or chain is no longer active. A kill switch still stops it."""

from typing import Any

import pytest

from chains.models import Chain, Token
from merchants.switching import switch_off
from payments.models import PaymentRequest, Refund
from payments.routes import direct, routes
from tests.conftest import Api
from tests.support.portal.payment_rows import SENDER
from tests.support.portal.refund_rows import WHY, carrier_of, create, fresh

pytestmark = pytest.mark.django_db
UNSIGNED = {"to": "0x", "data": "0x", "value": "0x0"}


@pytest.fixture
def inactive(paid: PaymentRequest, monkeypatch: pytest.MonkeyPatch) -> Refund:
    """A refund whose token and chain are inactive in the catalogue. Nodes are not called."""
    refund = create(paid)
    Token.objects.update(is_active=False)
    Chain.objects.update(is_active=False)
    built = direct.Built(UNSIGNED, direct.Payment.BoundBy.REFERENCE)
    monkeypatch.setattr(routes, "build_direct", lambda *_: built)
    return refund


def build(api: Api, refund: Refund) -> Any:
    return api.post(f"/api/refunds/{refund.pk}/build", {"wallet_address": SENDER})


def test_merchant_builds_refund_of_inactive_token(api: Api, inactive: Refund) -> None:
    answer = build(api, inactive)
    assert answer.status_code == 200, answer.content
    assert fresh(inactive).built_at is not None


def test_sign_page_offers_refund_of_inactive_token(inactive: Refund, public: Api) -> None:
    carrier = carrier_of(inactive)
    shown = public.get(f"/api/public/payment-requests/{carrier.pk}").json()
    assert shown["is_available"] is True
    page = public.get(f"/pay/{carrier.shortcode}").content.decode()
    assert 'data-screen="choose"' in page
    wallet = {"wallet_address": SENDER, "chain_id": carrier.chain_id, "token_id": carrier.token_id}
    answer = public.post(f"/api/public/payment-requests/{carrier.pk}/routes", wallet)
    assert answer.status_code == 200, answer.content
    [route] = answer.json()["routes"]
    built = public.post("/api/public/build-transaction", {"route_id": route["id"]})
    assert built.status_code == 200, built.content


def test_payment_in_inactive_token_is_still_not_offered(
    inactive: Refund, paid: PaymentRequest, public: Api
) -> None:
    wallet = {"wallet_address": SENDER, "chain_id": paid.chain_id, "token_id": paid.token_id}
    answer = public.post(f"/api/public/payment-requests/{paid.pk}/routes", wallet)
    assert answer.json()["error"]["code"] == "chain_unknown"
    assert PaymentRequest.objects.select_related("token", "chain").get(pk=paid.pk).is_available is False


@pytest.mark.parametrize("name", ["refunds", "chain", "token"])
def test_kill_switch_stops_refund_of_inactive_token(
    api: Api, inactive: Refund, paid: PaymentRequest, name: str
) -> None:
    target = {"chain": f"chain:{paid.chain_id}", "token": f"token:{paid.token_id}"}.get(name, name)
    switch_off(target, reason=WHY, request=None)
    assert build(api, inactive).status_code == 503
    assert fresh(inactive).built_at is None
