"""The payer of a sponsored payment can set a refund's address. The account that paid the fee can't."""

from datetime import timedelta

import pytest
from django.utils import timezone
from solders.keypair import Keypair

from config.api.errors import ApiError
from payments.models import Refund
from payments.refunds.claims import claim_address, claim_message, payer_of
from tests.conftest import Api
from tests.support.payments.cosigning import CosigningWorld


def claim(refund: Refund, address: str, signer: Keypair) -> None:
    until = timezone.now() + timedelta(minutes=5)
    signature = str(signer.sign_message(claim_message(refund, address, until).encode()))
    claim_address(refund, address, expires_at=until, signature=signature, now=timezone.now())


def test_payer_and_not_the_fee_payer_claims_a_refund(world: CosigningWorld, api: Api) -> None:
    payment = world.work_until_decided(world.pay(world.request()))
    assert payment.status == "completed"
    created = api.post(f"/api/payment-requests/{payment.request_id}/refunds", {"amount": "2.5"})
    assert created.json()["status"] == "requires_address", created.json()
    refund = Refund.objects.select_related("request__token", "request__chain", "request__merchant").get()
    assert payer_of(refund).address == world.payer_address
    address = str(world.ledger.new_wallet().pubkey())
    with pytest.raises(ApiError) as rejected:
        claim(refund, address, world.sponsor)
    assert rejected.value.problems[0].code == "signature_invalid"
    refund.refresh_from_db()
    assert (refund.recipient_address, refund.carrier_id) == ("", None)
    claim(refund, address, world.payer)
    refund.refresh_from_db()
    assert (refund.recipient_address, refund.address_source) == (address, "customer")
