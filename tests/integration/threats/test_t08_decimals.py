"""In a token with 18 decimals, a payment in units of 6 decimals counts only as that tiny amount."""

from collections.abc import Callable

from chains.models import Chain, Token
from demo.contracts import deploy
from payments.models import Payment, PaymentRequest
from tests.chain import LocalChain
from tests.support.payments.world import Clock, look_until_decided, pay, submit


def test_amount_counts_in_the_decimals_of_the_token(
    request_for: Callable[..., PaymentRequest], local_chain: LocalChain, chain: Chain
) -> None:
    address = deploy.deploy_token(local_chain.url, name="Binance-Peg USD Coin", symbol="USDC", decimals=18)
    deploy.mint(local_chain.url, address, local_chain.payer, 10**18)
    token = Token.objects.create(
        chain=chain, symbol="USDC", name="Binance-Peg USD Coin", decimals=18, contract_address=address
    )
    request = request_for("1", token=token)
    payment = look_until_decided(submit(request, pay(local_chain, request, 10**6)), Clock())
    request.refresh_from_db()
    assert payment.status == Payment.Status.COMPLETED
    assert (request.status, request.amount_paid, request.amount_remaining) == (
        "active",
        10**6,
        10**18 - 10**6,
    )
