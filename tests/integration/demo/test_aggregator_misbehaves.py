"""Each switch of the local aggregator does on the chains, or says over HTTP, what its name promises."""

import threading
import time
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

ASKED = 12_500_000
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


@pytest.fixture
def delivered(aggregator: Aggregator, local_chain: LocalChain) -> str:
    """A swap that arrived as it should: its source transaction."""
    sent = pay(local_chain, ask_for_quote(aggregator, local_chain).json())
    aggregator.delivered(sent)
    return sent


def told(aggregator: Aggregator, sent: str) -> Any:
    """What the aggregator says of the swap."""
    return ask(aggregator, "/status", txHash=sent, fromChain=31337, toChain=31338).json()


def words(answer: Any) -> str:
    return f"{answer['status']}/{answer['substatus']}"


def switches(aggregator: Aggregator) -> str:
    return aggregator.url.removesuffix("/v1") + "/switches"


def transfers(chain: LocalChain, hash: str) -> list[tuple[str, int]]:
    """Who got how much by the token transfers of a transaction."""
    logs = chain.rpc("eth_getTransactionReceipt", hash)["logs"]
    moves = [entry for entry in logs if entry["topics"][0] == TRANSFER]
    return [("0x" + entry["topics"][2][-40:], int(entry["data"], 16)) for entry in moves]


def test_nothing_is_delivered_until_the_switch_is_turned_back(
    aggregator: Aggregator, local_chain: LocalChain, anvil_b: LocalChain
) -> None:
    aggregator.set(delivery="none")
    before = anvil_b.token_balance(anvil_b.usdc, anvil_b.recipient)
    sent = pay(local_chain, ask_for_quote(aggregator, local_chain).json())
    aggregator.taken(sent)
    assert words(told(aggregator, sent)) == "PENDING/WAIT_DESTINATION_TRANSACTION"
    assert anvil_b.token_balance(anvil_b.usdc, anvil_b.recipient) == before
    aggregator.set(delivery="honest")
    aggregator.delivered(sent)
    assert anvil_b.token_balance(anvil_b.usdc, anvil_b.recipient) > before


def test_a_late_delivery_comes_after_its_delay(aggregator: Aggregator, local_chain: LocalChain) -> None:
    aggregator.set(delivery="late", delay_seconds=0.7)
    sent = pay(local_chain, ask_for_quote(aggregator, local_chain).json())
    taken = aggregator.taken(sent)
    assert words(told(aggregator, sent)) == "PENDING/WAIT_DESTINATION_TRANSACTION"
    aggregator.delivered(sent)
    assert time.time() - taken.seen_at >= 0.7


def test_less_arrives_than_was_guaranteed(
    aggregator: Aggregator, local_chain: LocalChain, anvil_b: LocalChain
) -> None:
    aggregator.set(delivery="less")
    before = anvil_b.token_balance(anvil_b.usdc, anvil_b.recipient)
    sent = pay(local_chain, ask_for_quote(aggregator, local_chain).json())
    aggregator.delivered(sent)
    assert anvil_b.token_balance(anvil_b.usdc, anvil_b.recipient) - before == ASKED * 99 // 100
    assert words(told(aggregator, sent)) == "DONE/COMPLETED"


def test_another_token_arrives(aggregator: Aggregator, local_chain: LocalChain, anvil_b: LocalChain) -> None:
    aggregator.set(delivery="other_token")
    sent = pay(local_chain, ask_for_quote(aggregator, local_chain).json())
    delivery = aggregator.delivered(sent).delivery
    assert delivery is not None
    assert delivery.token.address != anvil_b.usdc
    answer = told(aggregator, sent)
    assert words(answer) == "DONE/PARTIAL"
    assert answer["receiving"]["token"]["address"] == delivery.token.address


def test_somebody_else_gets_it(aggregator: Aggregator, local_chain: LocalChain, anvil_b: LocalChain) -> None:
    aggregator.set(delivery="other_recipient")
    before = anvil_b.token_balance(anvil_b.usdc, anvil_b.recipient)
    sent = pay(local_chain, ask_for_quote(aggregator, local_chain).json())
    delivery = aggregator.delivered(sent).delivery
    assert delivery is not None
    assert transfers(anvil_b, delivery.hash) == [(STRANGER.lower(), delivery.amount)]
    assert anvil_b.token_balance(anvil_b.usdc, anvil_b.recipient) == before


def test_the_sender_gets_it_back(aggregator: Aggregator, local_chain: LocalChain) -> None:
    aggregator.set(delivery="refund")
    quote = ask_for_quote(aggregator, local_chain, fromToken="DAI").json()
    before = local_chain.token_balance(local_chain.dai, local_chain.payer)
    sent = pay(local_chain, quote)
    aggregator.delivered(sent)
    assert local_chain.token_balance(local_chain.dai, local_chain.payer) == before
    answer = told(aggregator, sent)
    assert words(answer) == "DONE/REFUNDED"
    assert answer["receiving"]["chainId"] == local_chain.chain_id


def test_a_batch_pays_somebody_else_in_the_same_transaction(
    aggregator: Aggregator, local_chain: LocalChain, anvil_b: LocalChain
) -> None:
    aggregator.set(delivery="batch")
    delivery = aggregator.delivered(pay(local_chain, ask_for_quote(aggregator, local_chain).json())).delivery
    assert delivery is not None
    paid = [receiver for receiver, _ in transfers(anvil_b, delivery.hash)]
    assert paid == [STRANGER.lower(), anvil_b.recipient.lower()]


def test_a_batch_pays_the_same_recipient_twice(
    aggregator: Aggregator, local_chain: LocalChain, anvil_b: LocalChain
) -> None:
    aggregator.set(delivery="batch_same_recipient")
    delivery = aggregator.delivered(pay(local_chain, ask_for_quote(aggregator, local_chain).json())).delivery
    assert delivery is not None
    smaller, whole = transfers(anvil_b, delivery.hash)
    assert smaller == (anvil_b.recipient.lower(), delivery.amount // 3)
    assert whole == (anvil_b.recipient.lower(), delivery.amount)


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


def test_a_recipient_that_refuses_coin_holds_nobody_else_up(
    aggregator: Aggregator, local_chain: LocalChain, anvil_b: LocalChain
) -> None:
    coin = {"fromToken": "DAI", "toToken": EVM_NATIVE, "toAmount": 10**16}
    refusing = ask_for_quote(aggregator, local_chain, toAddress=anvil_b.usdc, **coin).json()
    refused = pay(local_chain, refusing)
    aggregator.delivered(pay(local_chain, ask_for_quote(aggregator, local_chain, **coin).json()))
    assert words(told(aggregator, refused)) == "PENDING/WAIT_DESTINATION_TRANSACTION"


@pytest.mark.parametrize("target", [31337, 31338], ids=["one-chain", "two-chains"])
def test_a_reverting_transaction_reverts(
    aggregator: Aggregator, local_chain: LocalChain, target: int
) -> None:
    aggregator.set(quote="reverts")
    quote = ask_for_quote(aggregator, local_chain, toChain=target).json()
    sent = send(local_chain, quote["transactionRequest"], succeeds=False)
    assert ask(aggregator, "/status", txHash=sent).status_code == 404


@pytest.mark.parametrize(
    "word",
    [
        "PENDING/WAIT_SOURCE_CONFIRMATIONS",
        "PENDING/REFUND_IN_PROGRESS",
        "DONE/PARTIAL",
        "FAILED/NOT_PROCESSABLE_REFUND_NEEDED",
        "FAILED/OUT_OF_GAS",
    ],
)
def test_any_status_can_be_told(aggregator: Aggregator, delivered: str, word: str) -> None:
    aggregator.set(status=word)
    assert words(told(aggregator, delivered)) == word


def test_a_status_without_a_substatus_has_none(aggregator: Aggregator, delivered: str) -> None:
    aggregator.set(status="INVALID")
    answer = told(aggregator, delivered)
    assert answer["status"] == "INVALID"
    assert "substatus" not in answer


@pytest.mark.parametrize(
    ("lie", "path"),
    [
        ("unknown_hash", ("receiving", "txHash")),
        ("foreign_hash", ("receiving", "txHash")),
        ("no_hash", ("receiving", "txHash")),
        ("less", ("receiving", "amount")),
        ("other_token", ("receiving", "token")),
        ("other_chain", ("receiving", "chainId")),
        ("other_recipient", ("toAddress",)),
        ("other_source", ("sending", "txHash")),
        ("other_id", ("transactionId",)),
    ],
)
def test_a_lie_changes_one_thing(
    aggregator: Aggregator, delivered: str, lie: str, path: tuple[str, ...]
) -> None:
    truth = told(aggregator, delivered)
    aggregator.set(status=lie)
    claimed = told(aggregator, delivered)
    assert words(claimed) == "DONE/COMPLETED"
    assert _taken_out(claimed, path) != _taken_out(truth, path)
    assert claimed == truth


def _taken_out(answer: Any, path: tuple[str, ...]) -> Any:
    for name in path[:-1]:
        answer = answer[name]
    return answer.pop(path[-1], None)


def test_flip_flop_tells_now_this_now_that(aggregator: Aggregator, delivered: str) -> None:
    aggregator.set(status="flip_flop")
    assert {told(aggregator, delivered)["status"] for _ in range(4)} == {"DONE", "PENDING"}


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [("not_found", 404, 1003), ("rate_limited", 429, 1005), ("server_error", 500, 1006)],
)
def test_a_status_can_be_an_error(
    aggregator: Aggregator, delivered: str, fault: str, status: int, code: int
) -> None:
    aggregator.set(status=fault, retry_after=17)
    answer = ask(aggregator, "/status", txHash=delivered)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert fault != "rate_limited" or answer.headers["ratelimit-reset"] == "17"


def test_an_answer_hangs_until_a_switch_is_turned(aggregator: Aggregator, local_chain: LocalChain) -> None:
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


def test_a_switch_can_stand_for_one_quote_alone(aggregator: Aggregator, local_chain: LocalChain) -> None:
    aggregator.set(quote="server_error", quote_times=1)
    assert [ask_for_quote(aggregator, local_chain).status_code for _ in range(3)] == [500, 200, 200]


def test_switches_are_turned_and_turned_back_over_http(aggregator: Aggregator) -> None:
    turned = requests.post(switches(aggregator), json={"status": "DONE/PARTIAL"}, timeout=10)
    assert (turned.status_code, aggregator.switches().status) == (200, "DONE/PARTIAL")
    assert requests.get(switches(aggregator), timeout=10).json()["now"]["status"] == "DONE/PARTIAL"
    requests.delete(switches(aggregator), timeout=10)
    assert aggregator.switches().status == "honest"


@pytest.mark.parametrize("wrong", [{"quote": "sideways"}, {"colour": "blue"}, {"delivery": None}, []])
def test_an_unknown_switch_is_refused_and_changes_nothing(aggregator: Aggregator, wrong: Any) -> None:
    aggregator.set(delivery="less")
    assert requests.post(switches(aggregator), json=wrong, timeout=10).status_code == 400
    assert aggregator.switches().delivery == "less"
    if isinstance(wrong, dict):
        with pytest.raises(UnknownSwitch):
            aggregator.set(**wrong)
