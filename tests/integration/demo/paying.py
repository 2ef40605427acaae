"""Scripted customers of the local aggregator: request a quote, and pay it."""

from typing import Any

import requests

from demo.aggregator.places import EVM_NATIVE
from demo.aggregator.server import Aggregator
from tests.chain import LocalChain


def ask(aggregator: Aggregator, path: str, **arguments: Any) -> requests.Response:
    return requests.get(aggregator.url + path, params=arguments, timeout=10)


def ask_for_quote(
    aggregator: Aggregator, chain: LocalChain, path: str = "/quote/toAmount", **different: Any
) -> requests.Response:
    """Request a quote; return the response. By default, the payer's coin buys 12.50 USDC on the second chain."""
    question = {
        "fromChain": chain.chain_id,
        "toChain": 31338,
        "fromToken": EVM_NATIVE,
        "toToken": chain.usdc,
        "toAmount": 12_500_000,
        "fromAddress": chain.payer,
        "toAddress": chain.recipient,
    }
    return ask(aggregator, path, **{**question, **different})


def pay(chain: LocalChain, quote: Any) -> str:
    """Approve if necessary, and send the quote's transaction as a wallet would; return the hash."""
    token, amount = quote["action"]["fromToken"]["address"], int(quote["action"]["fromAmount"])
    if token != EVM_NATIVE:
        spender = quote["estimate"]["approvalAddress"][2:].lower().rjust(64, "0")
        send(chain, {"to": token, "data": f"0x095ea7b3{spender}{amount:064x}"})
    return send(chain, quote["transactionRequest"])


def send(chain: LocalChain, call: Any, *, succeeds: bool = True) -> str:
    """Sign and send a call; return the hash. Checks whether it succeeded or failed as expected."""
    fees = {"gas": 600_000, "maxFeePerGas": 10**11, "maxPriorityFeePerGas": 10**9, "chainId": chain.chain_id}
    value = int(call.get("value", "0x0"), 16)
    sent = chain.send({"to": call["to"], "data": call["data"], "value": value, **fees})
    status = chain.rpc("eth_getTransactionReceipt", sent)["status"]
    assert status == ("0x1" if succeeds else "0x0")
    return sent


def holdings(chain: LocalChain, token: str, owner: str) -> int:
    """Return the owner's balance of a token or the native coin, in base units."""
    if token == EVM_NATIVE:
        return int(chain.rpc("eth_getBalance", owner, "latest"), 16)
    return chain.token_balance(token, owner)
