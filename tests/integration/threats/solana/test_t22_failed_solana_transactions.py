"""A failed Solana transaction is in a block and has transfers, but pays nothing.

It counts only if its record (`meta`) has the error null. Without the record, nothing is known.
"""

import pytest

from chains.models import Token
from merchants.models import Merchant
from payments.models import ConsumedTransfer, PaymentRequest
from tests.support.payments.world import make_request
from tests.support.solana.ledger import LocalLedger, new_address
from tests.support.solana.world import decide
from webhooks.models import Event


@pytest.fixture
def request_(merchant: Merchant, solana_usdc: Token) -> PaymentRequest:
    return make_request(merchant, solana_usdc, "2", new_address())


def demand_nothing_paid(request: PaymentRequest) -> None:
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (PaymentRequest.Status.ACTIVE, 0)
    assert ConsumedTransfer.objects.count() == 0
    assert not Event.objects.filter(type="payment.succeeded").exists()


def test_transfer_beside_a_failing_instruction_pays_nothing(
    request_: PaymentRequest, local_ledger: LocalLedger
) -> None:
    good = local_ledger.token_move(request_.recipient_address, 2_000_000, bytes(request_.reference))
    bad = local_ledger.coin_move(new_address(), 2**62)
    payment = decide(local_ledger, request_, local_ledger.send_failing([*good, *bad]))
    assert payment.failure_code == "transaction_reverted"
    assert local_ledger.token_balance(request_.recipient_address) == 0
    demand_nothing_paid(request_)
