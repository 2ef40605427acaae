"""Only the right chain, token and recipient pay. The failure code names the wrong one."""

from collections.abc import Callable

import pytest

from chains.models import Chain, Token
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from tests.chain import LocalChain
from tests.support.payments.world import Clock, look, submit

AMOUNT = 10_000_000
ELSEWHERE = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
EXPECTED = {
    (True, "usdc", True): "",
    (True, "usdc", False): "wrong_recipient",
    (True, "dai", True): "wrong_token",
}


@pytest.mark.parametrize(
    ("right_chain", "token", "right_recipient"),
    [(True, "usdc", True), (True, "usdc", False), (True, "dai", True), (False, "usdc", True)],
)
def test_wrong_chain_token_or_recipient_is_named(
    request_for: Callable[..., PaymentRequest],
    local_chain: LocalChain,
    other_local_chain: LocalChain,
    dai: Token,
    right_chain: bool,
    token: str,
    right_recipient: bool,
) -> None:
    request = request_for()
    where = local_chain if right_chain else other_local_chain
    chain = request.chain
    if not right_chain:
        chain = Chain.objects.create(
            id=where.chain_id, name="Other", chain_type="evm", rpc_urls=[where.url], native_symbol="ETH"
        )
    address = {"usdc": where.usdc, "dai": where.dai}[token]
    recipient = where.recipient if right_recipient else ELSEWHERE
    sent = where.transfer(address, recipient, AMOUNT, tail=bytes(request.reference))
    payment = submit(request, sent, chain)
    look(Clock())
    payment.refresh_from_db()
    assert payment.failure_code == EXPECTED.get((right_chain, token, right_recipient), "wrong_chain")
    paid = (right_chain, token, right_recipient) == (True, "usdc", True)
    assert (payment.status == Payment.Status.COMPLETED) is paid
    assert ConsumedTransfer.objects.count() == int(paid)
