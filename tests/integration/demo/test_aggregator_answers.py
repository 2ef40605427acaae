"""The responses of the aggregator match LI.FI's documentation in each field that the product reads."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import requests

from demo.aggregator.places import EVM_NATIVE
from demo.aggregator.server import Aggregator
from demo.services import surfnet
from tests.chain import LocalChain
from tests.integration.demo.paying import ask, ask_for_quote, pay, send

Shape = Callable[[Any], bool]
ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44}")


def text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def units(value: Any) -> bool:
    """Return whether the value is a whole number of base units, as text."""
    return isinstance(value, str) and value.isascii() and value.isdigit()


def decimal(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?", value) is not None


def whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def flag(value: Any) -> bool:
    return isinstance(value, bool)


def hexadecimal(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"0x[0-9a-f]+", value) is not None


def address(value: Any) -> bool:
    return isinstance(value, str) and ADDRESS.fullmatch(value) is not None


def one_of(*words: str) -> Shape:
    return lambda value: value in words


def several(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the shape of a non-empty list whose rows all have this shape."""
    return {"[]": row}


TOKEN = {
    "address": address, "chainId": whole, "symbol": text, "decimals": whole, "name": text, "coinKey": text,
    "logoURI": text, "priceUSD": decimal,
}  # fmt: skip
CHAIN = {
    "key": text, "chainType": one_of("EVM", "SVM"), "name": text, "coin": text, "id": whole, "mainnet": flag,
    "nativeToken": TOKEN,
    "metamask": {
        "chainId": hexadecimal, "chainName": text,
        "nativeCurrency": {"name": text, "symbol": text, "decimals": whole},
    },
}  # fmt: skip
TOOL = {"key": text, "name": text, "logoURI": text}
ACTION = {
    "fromChainId": whole, "toChainId": whole, "fromToken": TOKEN, "toToken": TOKEN, "fromAmount": units,
    "slippage": number, "fromAddress": address, "toAddress": address,
}  # fmt: skip
FEES = several(
    {
        "name": text, "description": text, "percentage": decimal, "token": TOKEN, "amount": units, "amountUSD": decimal,
        "included": flag,
    }
)  # fmt: skip
GAS = several(
    {
        "type": one_of("SUM", "APPROVE", "SEND"), "price": units, "estimate": units, "limit": units, "amount": units,
        "amountUSD": decimal, "token": TOKEN,
    }
)  # fmt: skip
ESTIMATE = {
    "tool": text, "fromAmount": units, "fromAmountUSD": decimal, "toAmount": units, "toAmountMin": units,
    "toAmountUSD": decimal, "approvalAddress": address, "feeCosts": FEES, "gasCosts": GAS, "executionDuration": whole,
}  # fmt: skip
CALL = {
    "to": address, "from": address, "data": hexadecimal, "value": hexadecimal, "chainId": whole,
    "gasPrice": hexadecimal, "gasLimit": hexadecimal,
}  # fmt: skip
STEP = {
    "id": text, "type": one_of("lifi"), "tool": text, "toolDetails": TOOL, "action": ACTION, "estimate": ESTIMATE,
    "integrator": text, "transactionId": hexadecimal,
    "includedSteps": several(
        {
            "id": text, "type": one_of("swap", "cross", "protocol"), "tool": text, "toolDetails": TOOL,
            "action": ACTION, "estimate": ESTIMATE,
        }
    ),
}  # fmt: skip
SIDE = {
    "txHash": hexadecimal, "txLink": text, "amount": units, "amountUSD": decimal, "token": TOKEN, "chainId": whole,
    "gasPrice": units, "gasUsed": units, "gasToken": TOKEN, "gasAmount": units, "gasAmountUSD": decimal, "value": units,
    "timestamp": whole,
}  # fmt: skip
STATUS = {
    "transactionId": hexadecimal, "sending": SIDE, "feeCosts": FEES, "lifiExplorerLink": text, "fromAddress": address,
    "toAddress": address, "tool": text, "status": text, "substatus": text, "substatusMessage": text,
    "metadata": {"integrator": text},
}  # fmt: skip
ERROR = {"message": text, "code": whole}


def misfits(value: Any, shape: Any, where: str = "") -> list[str]:
    """Return the paths at which the value doesn't match the shape."""
    if callable(shape):
        return [] if shape(value) else [f"{where}: {value!r}"]
    if "[]" in shape:
        if not isinstance(value, list) or not value:
            return [f"{where}: {value!r}"]
        return [
            misfit
            for place, row in enumerate(value)
            for misfit in misfits(row, shape["[]"], f"{where}[{place}]")
        ]
    if not isinstance(value, dict):
        return [f"{where}: {value!r}"]
    missing = [f"{where}.{name} is missing" for name in shape if name not in value]
    there = (name for name in shape if name in value)
    return missing + [
        misfit for name in there for misfit in misfits(value[name], shape[name], f"{where}.{name}")
    ]


def test_listed_chains_match_the_documentation(aggregator: Aggregator) -> None:
    answer = ask(aggregator, "/chains", chainTypes="EVM,SVM").json()
    assert misfits(answer, {"chains": several(CHAIN)}) == []
    for chain in answer["chains"]:
        assert chain["chainType"] != "EVM" or misfits(chain, {"diamondAddress": address}) == []


def test_only_evm_chains_are_listed_by_default(aggregator: Aggregator) -> None:
    kinds = {chain["chainType"] for chain in ask(aggregator, "/chains").json()["chains"]}
    assert kinds == {"EVM"}


def test_listed_tokens_match_the_documentation(aggregator: Aggregator, local_chain: LocalChain) -> None:
    answer = ask(aggregator, "/tokens", chains=str(local_chain.chain_id)).json()
    assert list(answer["tokens"]) == [str(local_chain.chain_id)]
    assert misfits(answer["tokens"], {str(local_chain.chain_id): several(TOKEN)}) == []
    one = ask(aggregator, "/token", chain=str(local_chain.chain_id), token="DAI").json()
    assert misfits(one, TOKEN) == []


@pytest.mark.parametrize("target", [31337, 31338], ids=["one-chain", "two-chains"])
def test_quote_matches_the_documentation(
    aggregator: Aggregator, local_chain: LocalChain, target: int
) -> None:
    answer = ask_for_quote(aggregator, local_chain, toChain=target)
    assert misfits(answer.json(), {**STEP, "transactionRequest": CALL}) == []
    estimate = answer.json()["estimate"]
    assert int(estimate["toAmount"]) >= int(estimate["toAmountMin"]) >= 12_500_000


def test_quote_by_input_has_that_input(aggregator: Aggregator, local_chain: LocalChain) -> None:
    answer = ask_for_quote(aggregator, local_chain, "/quote", fromAmount=10**16).json()
    assert misfits(answer, {**STEP, "transactionRequest": CALL}) == []
    assert answer["action"]["fromAmount"] == str(10**16)


@pytest.mark.skipif(not surfnet.is_offered(), reason="Surfnet has no build for this machine.")
def test_quote_from_solana_has_only_a_transaction(
    aggregator: Aggregator, local_chain: LocalChain, request: pytest.FixtureRequest
) -> None:
    payer = request.getfixturevalue("local_ledger").payer
    answer = ask_for_quote(
        aggregator, local_chain, fromChain=surfnet.CHAIN_ID, fromToken="SOL", fromAddress=payer
    )
    assert misfits(answer.json(), STEP) == []
    assert misfits(answer.json()["transactionRequest"], {"data": text}) == []
    assert len(answer.json()["transactionRequest"]) == 1


def test_status_matches_the_documentation(aggregator: Aggregator, local_chain: LocalChain) -> None:
    aggregator.set(delivery="none")
    request = ask_for_quote(aggregator, local_chain).json()["transactionRequest"]
    sent = send(local_chain, request)
    aggregator.taken(sent)
    waiting = ask(aggregator, "/status", txHash=sent, fromChain=31337, toChain=31338).json()
    assert misfits(waiting, {**STATUS, "receiving": {"chainId": whole}}) == []
    assert (waiting["status"], waiting["substatus"]) == ("PENDING", "WAIT_DESTINATION_TRANSACTION")
    aggregator.set(delivery="honest")
    aggregator.delivered(sent)
    done = ask(aggregator, "/status", txHash=sent, fromChain=31337, toChain=31338).json()
    assert misfits(done, {**STATUS, "receiving": SIDE}) == []
    assert (done["status"], done["substatus"]) == ("DONE", "COMPLETED")


def test_explorer_shows_a_swap_in_words(aggregator: Aggregator, local_chain: LocalChain) -> None:
    sent = pay(local_chain, ask_for_quote(aggregator, local_chain).json())
    delivery = aggregator.delivered(sent).delivery
    assert delivery is not None
    told = ask(aggregator, "/status", txHash=sent).json()
    page = requests.get(told["lifiExplorerLink"], timeout=10).text
    assert sent in page
    assert delivery.hash in page


def test_responses_have_an_id_and_the_rate_limit(aggregator: Aggregator) -> None:
    headers = ask(aggregator, "/chains").headers
    assert text(headers["x-lifi-requestid"])
    for name in ("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"):
        assert units(headers[name])


@pytest.mark.parametrize(
    ("different", "status", "code"),
    [
        ({"toAmount": 1}, 404, 1002),
        ({"toToken": EVM_NATIVE, "toChain": 31337, "toAmount": 10**15}, 404, 1002),
        ({"toAmount": "some"}, 400, 1011),
        ({"fromAddress": "0x" + "2" * 40}, 400, 1011),
        ({"fromChain": 5}, 400, 1011),
        ({"toAddress": "nobody"}, 400, 1011),
    ],
)
def test_errors_match_the_documentation(
    aggregator: Aggregator, local_chain: LocalChain, different: dict[str, Any], status: int, code: int
) -> None:
    answer = ask_for_quote(aggregator, local_chain, **different)
    assert answer.status_code == status
    assert misfits(answer.json(), ERROR) == []
    assert answer.json()["code"] == code


def test_unknown_transaction_is_not_found(aggregator: Aggregator) -> None:
    answer = ask(aggregator, "/status", txHash="0x" + "12" * 32)
    assert (answer.status_code, answer.json()["code"]) == (404, 1003)
