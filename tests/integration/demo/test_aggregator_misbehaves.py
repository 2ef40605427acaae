"""Each switch of the local aggregator causes the fault in its name, on the chains or over HTTP."""

import threading
from typing import Any

import pytest
import requests

from demo.aggregator.contracts import EXECUTOR
from demo.aggregator.places import EVM_NATIVE
from demo.aggregator.quoting import STRANGER
from demo.aggregator.server import Aggregator
from demo.aggregator.switches import UnknownSwitch
from tests.chain import LocalChain
from tests.integration.demo.paying import ask, ask_for_quote, holdings, pay, send

TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


@pytest.fixture
def delivered(aggregator: Aggregator, local_chain: LocalChain) -> str:
    """The source transaction of a delivered swap."""
    sent = pay(local_chain, ask_for_quote(aggregator, local_chain).json())
    aggregator.delivered(sent)
    return sent


def status_of(aggregator: Aggregator, sent: str) -> Any:
    return ask(aggregator, "/status", txHash=sent, fromChain=31337, toChain=31338).json()


def words(response: Any) -> str:
    return f"{response['status']}/{response['substatus']}"


def switches(aggregator: Aggregator) -> str:
    return aggregator.url.removesuffix("/v1") + "/switches"


def transfers(chain: LocalChain, hash: str) -> list[tuple[str, int]]:
    """Return the recipient and amount of each token transfer in a transaction."""
    logs = chain.rpc("eth_getTransactionReceipt", hash)["logs"]
    moves = [entry for entry in logs if entry["topics"][0] == TRANSFER]
    return [("0x" + entry["topics"][2][-40:], int(entry["data"], 16)) for entry in moves]


def test_switch_withholds_the_delivery_until_reset(
    aggregator: Aggregator, local_chain: LocalChain, anvil_b: LocalChain
) -> None:
    aggregator.set(delivery="none")
    before = anvil_b.token_balance(anvil_b.usdc, anvil_b.recipient)
    sent = pay(local_chain, ask_for_quote(aggregator, local_chain).json())
    aggregator.taken(sent)
    assert words(status_of(aggregator, sent)) == "PENDING/WAIT_DESTINATION_TRANSACTION"
    assert anvil_b.token_balance(anvil_b.usdc, anvil_b.recipient) == before
    aggregator.set(delivery="honest")
    aggregator.delivered(sent)
    assert anvil_b.token_balance(anvil_b.usdc, anvil_b.recipient) > before


def test_switch_delivers_to_another_recipient(
    aggregator: Aggregator, local_chain: LocalChain, anvil_b: LocalChain
) -> None:
    aggregator.set(delivery="other_recipient")
    before = anvil_b.token_balance(anvil_b.usdc, anvil_b.recipient)
    sent = pay(local_chain, ask_for_quote(aggregator, local_chain).json())
    delivery = aggregator.delivered(sent).delivery
    assert delivery is not None
    assert transfers(anvil_b, delivery.hash) == [(STRANGER.lower(), delivery.amount)]
    assert anvil_b.token_balance(anvil_b.usdc, anvil_b.recipient) == before


def test_coin_is_delivered_by_an_inner_call(
    aggregator: Aggregator, local_chain: LocalChain, anvil_b: LocalChain
) -> None:
    quote = ask_for_quote(
        aggregator, local_chain, fromToken="DAI", toToken=EVM_NATIVE, toAmount=10**16
    ).json()
    before = holdings(anvil_b, EVM_NATIVE, anvil_b.recipient)
    delivery = aggregator.delivered(pay(local_chain, quote)).delivery
    assert delivery is not None
    transaction = anvil_b.rpc("eth_getTransactionByHash", delivery.hash)
    assert (transaction["to"], int(transaction["value"], 16)) == (EXECUTOR.lower(), 0)
    assert holdings(anvil_b, EVM_NATIVE, anvil_b.recipient) - before == delivery.amount


def test_recipient_that_rejects_coin_delays_no_other(
    aggregator: Aggregator, local_chain: LocalChain, anvil_b: LocalChain
) -> None:
    coin = {"fromToken": "DAI", "toToken": EVM_NATIVE, "toAmount": 10**16}
    refusing = ask_for_quote(aggregator, local_chain, toAddress=anvil_b.usdc, **coin).json()
    refused = pay(local_chain, refusing)
    aggregator.delivered(pay(local_chain, ask_for_quote(aggregator, local_chain, **coin).json()))
    assert words(status_of(aggregator, refused)) == "PENDING/WAIT_DESTINATION_TRANSACTION"


def test_switch_makes_the_transaction_revert(aggregator: Aggregator, local_chain: LocalChain) -> None:
    aggregator.set(quote="reverts")
    quote = ask_for_quote(aggregator, local_chain).json()
    sent = send(local_chain, quote["transactionRequest"], succeeds=False)
    assert ask(aggregator, "/status", txHash=sent).status_code == 404


@pytest.mark.parametrize(
    "word",
    ["PENDING/REFUND_IN_PROGRESS", "FAILED/OUT_OF_GAS"],
)
def test_switch_returns_any_status(aggregator: Aggregator, delivered: str, word: str) -> None:
    aggregator.set(status=word)
    assert words(status_of(aggregator, delivered)) == word


def test_status_without_a_substatus_has_none(aggregator: Aggregator, delivered: str) -> None:
    aggregator.set(status="INVALID")
    response = status_of(aggregator, delivered)
    assert response["status"] == "INVALID"
    assert "substatus" not in response


@pytest.mark.parametrize(
    ("lie", "path"),
    [
        ("unknown_hash", ("receiving", "txHash")),
        ("other_token", ("receiving", "token")),
        ("other_id", ("transactionId",)),
    ],
)
def test_each_lie_changes_one_field_of_the_status(
    aggregator: Aggregator, delivered: str, lie: str, path: tuple[str, ...]
) -> None:
    truth = status_of(aggregator, delivered)
    aggregator.set(status=lie)
    claimed = status_of(aggregator, delivered)
    assert words(claimed) == "DONE/COMPLETED"
    assert _taken_out(claimed, path) != _taken_out(truth, path)
    assert claimed == truth


def _taken_out(response: Any, path: tuple[str, ...]) -> Any:
    for name in path[:-1]:
        response = response[name]
    return response.pop(path[-1], None)


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [("not_found", 404, 1003), ("rate_limited", 429, 1005), ("server_error", 500, 1006)],
)
def test_switch_returns_a_status_error(
    aggregator: Aggregator, delivered: str, fault: str, status: int, code: int
) -> None:
    aggregator.set(status=fault, retry_after=17)
    response = ask(aggregator, "/status", txHash=delivered)
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert fault != "rate_limited" or response.headers["ratelimit-reset"] == "17"


def test_response_hangs_until_a_switch_changes(aggregator: Aggregator, local_chain: LocalChain) -> None:
    aggregator.set(quote="hang", hang_seconds=30)
    with pytest.raises(requests.Timeout):
        requests.get(aggregator.url + "/quote/toAmount", timeout=0.2)
    answers: list[int] = []
    asking = threading.Thread(
        target=lambda: answers.append(ask_for_quote(aggregator, local_chain).status_code)
    )
    asking.start()
    aggregator.calls.wait_for("/v1/quote/toAmount", 2)
    aggregator.reset()
    asking.join(10)
    assert answers == [200]


def test_switch_may_apply_to_a_single_quote(aggregator: Aggregator, local_chain: LocalChain) -> None:
    aggregator.set(quote="server_error", quote_times=1)
    assert [ask_for_quote(aggregator, local_chain).status_code for _ in range(3)] == [500, 200, 200]


def test_switches_are_set_and_reset_over_http(aggregator: Aggregator) -> None:
    turned = requests.post(switches(aggregator), json={"status": "DONE/PARTIAL"}, timeout=10)
    assert (turned.status_code, aggregator.switches().status) == (200, "DONE/PARTIAL")
    assert requests.get(switches(aggregator), timeout=10).json()["now"]["status"] == "DONE/PARTIAL"
    requests.delete(switches(aggregator), timeout=10)
    assert aggregator.switches().status == "honest"


@pytest.mark.parametrize("wrong", [{"quote": "sideways"}, {"colour": "blue"}])
def test_unknown_switch_is_rejected_and_changes_nothing(aggregator: Aggregator, wrong: Any) -> None:
    aggregator.set(delivery="less")
    assert requests.post(switches(aggregator), json=wrong, timeout=10).status_code == 400
    assert aggregator.switches().delivery == "less"
    with pytest.raises(UnknownSwitch):
        aggregator.set(**wrong)
