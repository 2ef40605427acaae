"""The local aggregator takes a customer's money on one chain and delivers on another."""

from typing import Any

import pytest

from demo.aggregator import contracts
from demo.aggregator.places import EVM_NATIVE, SVM_NATIVE
from demo.aggregator.server import Aggregator
from demo.services import surfnet
from demo.solana import mint
from tests.chain import LocalChain
from tests.integration.demo.paying import ask, holdings, pay
from tests.support.solana.ledger import LocalLedger

USDC_ASKED = 12_500_000
DAI_ASKED = 12_500_000_000_000_000_000
COIN_ASKED = 10**16
needs_solana = pytest.mark.skipif(not surfnet.is_offered(), reason="Surfnet has no build for this machine.")


def quote(aggregator: Aggregator, chains: tuple[int, int], tokens: tuple[str, str], **more: Any) -> Any:
    names = {"fromChain": chains[0], "toChain": chains[1], "fromToken": tokens[0], "toToken": tokens[1]}
    response = ask(aggregator, "/quote/toAmount", **names, **more)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize(
    ("packed", "paid", "wanted", "amount"),
    [
        (False, EVM_NATIVE, "USDC", USDC_ASKED),
        (True, "DAI", EVM_NATIVE, COIN_ASKED),
        (False, "USDT", "DAI", DAI_ASKED),
    ],
    ids=["coin-to-token", "token-to-coin", "resetting-token-to-token"],
)
def test_payment_on_one_chain_is_delivered_on_another(
    aggregator: Aggregator,
    local_chain: LocalChain,
    anvil_b: LocalChain,
    packed: bool,
    paid: str,
    wanted: str,
    amount: int,
) -> None:
    aggregator.set(packed=packed)
    offered = quote(
        aggregator,
        (local_chain.chain_id, anvil_b.chain_id),
        (paid, wanted),
        toAmount=amount,
        fromAddress=local_chain.payer,
        toAddress=anvil_b.recipient,
    )
    token = offered["action"]["toToken"]["address"]
    before = holdings(anvil_b, token, anvil_b.recipient)
    sent = pay(local_chain, offered)
    (gas,) = offered["estimate"]["gasCosts"]
    used = int(local_chain.rpc("eth_getTransactionReceipt", sent)["gasUsed"], 16)
    assert used <= int(gas["estimate"]) <= 3 * used
    swap = aggregator.delivered(sent)
    arrived = holdings(anvil_b, token, anvil_b.recipient) - before
    assert swap.delivery is not None
    assert arrived == swap.delivery.amount >= amount
    status = ask(aggregator, "/status", txHash=swap.taken_by).json()
    assert (status["status"], status["substatus"]) == ("DONE", "COMPLETED")
    assert status["receiving"]["txHash"] == swap.delivery.hash
    assert status["receiving"]["amount"] == str(arrived)


@pytest.mark.parametrize(
    ("paid", "wanted", "amount"),
    [
        (EVM_NATIVE, "USDC", USDC_ASKED),
        ("USDC", EVM_NATIVE, COIN_ASKED),
    ],
)
def test_swap_on_one_chain_pays_in_one_transaction(
    aggregator: Aggregator, local_chain: LocalChain, paid: str, wanted: str, amount: int
) -> None:
    offered = quote(
        aggregator,
        (local_chain.chain_id, local_chain.chain_id),
        (paid, wanted),
        toAmount=amount,
        fromAddress=local_chain.payer,
        toAddress=local_chain.recipient,
    )
    token = offered["action"]["toToken"]["address"]
    before = holdings(local_chain, token, local_chain.recipient)
    sent = pay(local_chain, offered)
    arrived = holdings(local_chain, token, local_chain.recipient) - before
    swap = aggregator.delivered(sent)
    assert swap.delivery is not None
    assert swap.delivery.hash == sent
    assert arrived == swap.delivery.amount >= amount


@needs_solana
@pytest.mark.parametrize(("wanted", "amount"), [(mint.USDC, USDC_ASKED), (SVM_NATIVE, 10**8)])
def test_payment_on_evm_is_delivered_on_solana(
    aggregator: Aggregator, local_chain: LocalChain, local_ledger: LocalLedger, wanted: str, amount: int
) -> None:
    receiver = str(local_ledger.new_wallet().pubkey())  # it has no token account yet
    offered = quote(
        aggregator,
        (local_chain.chain_id, surfnet.CHAIN_ID),
        (EVM_NATIVE, wanted),
        toAmount=amount,
        fromAddress=local_chain.payer,
        toAddress=receiver,
    )
    assert contracts.NOT_EVM[2:].lower() in offered["transactionRequest"]["data"]
    swap = aggregator.delivered(pay(local_chain, offered))
    of = local_ledger.balance if wanted == SVM_NATIVE else local_ledger.token_balance
    assert swap.delivery is not None
    assert of(receiver) == swap.delivery.amount >= amount


@needs_solana
@pytest.mark.parametrize("paid", [mint.USDC, SVM_NATIVE])
def test_payment_on_solana_is_delivered_on_evm(
    aggregator: Aggregator, anvil_b: LocalChain, local_ledger: LocalLedger, paid: str
) -> None:
    offered = quote(
        aggregator,
        (surfnet.CHAIN_ID, anvil_b.chain_id),
        (paid, "USDC"),
        toAmount=USDC_ASKED,
        fromAddress=local_ledger.payer,
        toAddress=anvil_b.recipient,
    )
    assert list(offered["transactionRequest"]) == ["data"]
    before = anvil_b.token_balance(anvil_b.usdc, anvil_b.recipient)
    swap = aggregator.delivered(local_ledger.sign_and_send(offered["transactionRequest"]["data"]))
    arrived = anvil_b.token_balance(anvil_b.usdc, anvil_b.recipient) - before
    assert swap.delivery is not None
    assert arrived == swap.delivery.amount >= USDC_ASKED
