"""Discovery finds payments that were not submitted by their reference."""

import pytest

from chains.models import Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from tests.processes import eventually
from tests.support.payments.world import Clock, look_until_decided, make_request
from tests.support.solana.ledger import LocalLedger, new_address, with_references
from tests.support.solana.world import built_for
from tests.verifying import discover_due
from webhooks.models import Event


@pytest.fixture
def recipient() -> str:
    return new_address()


@pytest.mark.usefixtures("each_ledger_kind")
def test_sixty_junk_transactions_make_no_payment_and_hide_none(
    merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger, recipient: str
) -> None:
    request = make_request(merchant, solana_usdc, "2", recipient)
    unsigned = built_for(request, local_ledger.payer)
    signature = local_ledger.sign_and_send(unsigned)
    reference = bytes(request.reference)
    for number in range(60):
        [move] = local_ledger.coin_move(local_ledger.payer, number + 1)
        local_ledger.send([with_references(move, reference)])
    clock = Clock()

    def search() -> int:
        clock.forward(seconds=10)
        return discover_due(now=clock)

    # The nodes of a busy machine may list the newest transactions late.
    eventually(lambda: search() == 1, "the payment was found")
    assert Payment.objects.get().transaction_hash == signature
    local_ledger.finalize(signature)
    look_until_decided(Payment.objects.get(), clock)
    request.refresh_from_db()
    assert request.status == PaymentRequest.Status.COMPLETED
    assert not Event.objects.filter(type="payment.failed").exists()
