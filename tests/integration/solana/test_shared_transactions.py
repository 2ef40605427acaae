"""One transaction can pay several merchants. A credit for one doesn't prevent credits for the others."""

import pytest

from chains.models import Token
from config.api.errors import ApiError
from merchants.models import Merchant
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from payments.submission.hashes import sight_for_merchant, submit_for_merchant
from payments.submission.merchant_acceptance import accept_payment
from tests.support.payments.world import Clock, look_until_decided, make_request, submit
from tests.support.solana.ledger import LocalLedger, new_address
from tests.support.solana.world import decide

Status = PaymentRequest.Status
UNIT = 1_000_000


def test_payment_beside_another_request_can_be_accepted(
    merchant: Merchant, other_merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    """The second transfer has no reference.

    A thief adds a small payment to the transaction, which is credited to another request.
    """
    thiefs = make_request(merchant, solana_usdc, "1", new_address())
    request = make_request(other_merchant, solana_usdc, "2", new_address())
    little = local_ledger.token_move(thiefs.recipient_address, 1, bytes(thiefs.reference))
    paying = local_ledger.token_move(request.recipient_address, 2 * UNIT)
    signature = local_ledger.send([*little, *paying])
    assert decide(local_ledger, thiefs, signature).status == Payment.Status.COMPLETED
    payment, is_new = submit_for_merchant(
        request, chain=request.chain, transaction_hash=signature, actor="api"
    )
    assert is_new
    payment = look_until_decided(payment, Clock())
    assert payment.failure_code == "transaction_not_bound"
    accept_payment(payment, reason="the customer wrote to us", actor="test")
    look_until_decided(payment, Clock())
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (Status.COMPLETED, 2 * UNIT)
    assert sorted(ConsumedTransfer.objects.values_list("amount", flat=True)) == [1, 2 * UNIT]


def test_fully_credited_transaction_is_rejected_for_the_wallet(
    merchant: Merchant, other_merchant: Merchant, solana_usdc: Token, local_ledger: LocalLedger
) -> None:
    """It pays two requests of one wallet. It also pays another merchant's wallet without a reference."""
    wallet = new_address()
    first, second, third = (make_request(merchant, solana_usdc, "1", wallet) for _ in range(3))
    others = make_request(other_merchant, solana_usdc, "1", new_address())
    moves = [
        *local_ledger.token_move(wallet, UNIT, bytes(first.reference)),
        *local_ledger.token_move(wallet, UNIT, bytes(second.reference)),
        *local_ledger.token_move(others.recipient_address, UNIT),
    ]
    signature = local_ledger.send(moves)
    assert decide(local_ledger, first, signature).status == Payment.Status.COMPLETED
    assert decide(local_ledger, second, signature).status == Payment.Status.COMPLETED
    for by in (submit, _submit_for_merchant):
        with pytest.raises(ApiError) as rejected:
            by(third, signature)
        assert rejected.value.problems[0].code.value == "transaction_already_used"
    assert Payment.objects.count() == 2
    assert submit(others, signature).status == "pending", "what it got is not credited yet"


def _submit_for_merchant(request: PaymentRequest, signature: str) -> Payment:
    sighting = sight_for_merchant(request, request.chain, signature)
    payment, _ = submit_for_merchant(
        request, chain=request.chain, transaction_hash=signature, actor="api", sighting=sighting
    )
    return payment
