"""For a Token-2022 mint with a transfer fee, the amount that arrives counts."""

from chains.families import get_client
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import Payment, PaymentRequest
from tests.support.payments.world import make_request
from tests.support.solana.accounts import make_fee_mint
from tests.support.solana.ledger import LocalLedger, new_address
from tests.support.solana.world import built_for, decide

Status = PaymentRequest.Status


def fee_token(chain: Chain, ledger: LocalLedger) -> Token:
    mint = make_fee_mint(ledger, holder_units=10**9)
    return Token.objects.create(chain=chain, symbol="FEE", name="Fee", decimals=6, contract_address=mint)


def test_token_2022_fee_leaves_the_request_partly_paid(
    merchant: Merchant, solana: Chain, local_ledger: LocalLedger
) -> None:
    token = fee_token(solana, local_ledger)
    request = make_request(merchant, token, "10", new_address())
    payment = decide(
        local_ledger, request, local_ledger.sign_and_send(built_for(request, local_ledger.payer))
    )
    request.refresh_from_db()
    assert (payment.status, payment.amount_received) == (Payment.Status.COMPLETED, 9_900_000)
    assert (request.status, request.amount_paid, request.amount_remaining) == (
        Status.ACTIVE,
        9_900_000,
        100_000,
    )

    decide(local_ledger, request, local_ledger.sign_and_send(built_for(request, local_ledger.payer)))
    request.refresh_from_db()
    assert (request.status, request.amount_paid) == (Status.ACTIVE, 9_999_000)


def test_decimals_are_read_from_the_mint(solana: Chain, local_ledger: LocalLedger) -> None:
    mint = make_fee_mint(local_ledger, holder_units=1)
    [metadata] = get_client(solana).token_metadata([mint])
    assert (metadata.symbol, metadata.decimals) == (None, 6)
    assert get_client(solana).recipient_problem(mint) is not None
