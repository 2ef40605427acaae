"""The wallet that signed a sponsored payment can set a refund's address. The account that sent it can't."""

from datetime import timedelta

import pytest
from django.utils import timezone
from eth_account import Account
from eth_account.messages import encode_defunct

from config.api.errors import ApiError
from payments.models import Payment, PaymentRequest, Refund
from payments.refunds.claims import claim_address, claim_message, payer_of
from tests.conftest import Api
from tests.support.payments.sponsoring import SponsoringWorld

SOON = timedelta(minutes=5)


def refund_of(api: Api, request: PaymentRequest) -> Refund:
    created = api.post(f"/api/payment-requests/{request.pk}/refunds", {"amount": "2.5"})
    assert created.json()["status"] == "requires_address", created.json()
    return Refund.objects.select_related("request__token", "request__chain", "request__merchant").get()


def claim(refund: Refund, address: str, key: str) -> None:
    until = timezone.now() + SOON
    text = claim_message(refund, address, until)
    signature = "0x" + bytes(Account.sign_message(encode_defunct(text=text), key).signature).hex()
    claim_address(refund, address, expires_at=until, signature=signature, now=timezone.now())


def check_payer_alone_claims(world: SponsoringWorld, refund: Refund, sender_key: str) -> None:
    address = str(Account.create().address)
    assert payer_of(refund).address == world.payer.address
    with pytest.raises(ApiError) as rejected:
        claim(refund, address, sender_key)
    assert rejected.value.problems[0].code == "signature_invalid"
    refund.refresh_from_db()
    assert (refund.recipient_address, refund.carrier_id) == ("", None)
    claim(refund, address, "0x" + bytes(world.payer.key).hex())
    refund.refresh_from_db()
    assert (refund.recipient_address, refund.address_source) == (address, "customer")


def test_payer_and_not_the_sponsor_claims_a_refund(world: SponsoringWorld, api: Api) -> None:
    payment = world.work_until_decided(world.pay(world.request()))
    assert (payment.status, payment.from_address) == ("completed", world.payer.address)
    check_payer_alone_claims(world, refund_of(api, payment.request), world.sponsor_key)


def test_payer_and_not_a_front_runner_claims_a_refund(world: SponsoringWorld, api: Api) -> None:
    request = world.request()
    route, signature = world.signed(request)
    world.broadcast(route, signature)
    payment = Payment.objects.get(pk=world.submit(request, route, signature)["id"])
    world.work_until_decided(payment)
    assert payment.status == "completed"
    check_payer_alone_claims(world, refund_of(api, request), world.chain.payer_key)
