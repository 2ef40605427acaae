"""Parse LI.FI's quotes (the Step of its OpenAPI document), and its reasons for not quoting.

A quote that lacks a required field or contradicts itself counts as no usable response.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from chains.client import Action, EvmCall, SolanaTransaction
from payments.providers import reading
from payments.providers.base import Fee, NoOffer, NoOfferCode, Offer, Side, Tool

PROVIDER = "lifi"
LONGEST_DURATION = 30 * 24 * 3600
_MAX_CALL_BYTES = 64 * 1024
_SOLANA_PACKET_BYTES = 1232
_MAX_GAS = 10**9
_MAX_STEPS = 20
_MAX_FEES = 50
_LONGEST_NAME = 60
# The error codes of the bridges and exchanges behind LI.FI, the most important first.
_TOOL_ERRORS = {
    "AMOUNT_TOO_LOW": NoOfferCode.AMOUNT_TOO_LOW,
    "FEES_HIGHER_THAN_AMOUNT": NoOfferCode.FEES_TOO_HIGH,
    "AMOUNT_TOO_HIGH": NoOfferCode.AMOUNT_TOO_HIGH,
    "INSUFFICIENT_LIQUIDITY": NoOfferCode.NO_LIQUIDITY,
}


Json = Mapping[str, Any]


def offer_from(body: Any) -> Offer:
    """Parse a quote (LI.FI's Step). Raises ProviderDown if it is malformed or contradicts itself."""
    step = reading.members(body, "quote")
    terms = reading.members(step.get("action"), "action")
    estimate = reading.members(step.get("estimate"), "estimate")
    source, target = _source(terms), _target(terms)
    amount_in = reading.amount(terms.get("fromAmount"), "amount to pay")
    reading.require_equal(
        amount_in, reading.amount(estimate.get("fromAmount"), "estimated amount to pay"), "amount to pay"
    )
    transaction_id = reading.bytes32(step.get("transactionId"), "transaction id")
    action, chain_id = _action(step.get("transactionRequest"), source)
    tool = reading.word(step.get("tool"), "tool")
    return Offer(
        provider=PROVIDER,
        quote_id=reading.word(step.get("id"), "quote id", limit=200),
        bound_by=transaction_id,
        source=source,
        target=target,
        amount_in=amount_in,
        amount_out=reading.amount(estimate.get("toAmount"), "amount to receive"),
        amount_out_min=reading.amount(estimate.get("toAmountMin"), "minimum amount to receive"),
        action=action,
        action_chain_id=chain_id,
        spender=_spender(estimate, source),
        must_reset_approval=reading.flag(estimate.get("approvalReset"), "approvalReset"),
        duration_seconds=reading.seconds(
            estimate.get("executionDuration"), "duration", limit=LONGEST_DURATION
        ),
        fees=tuple(_fees(estimate.get("feeCosts"))),
        gas=tuple(_gas(estimate.get("gasCosts"))),
        usd_in=reading.dollars(estimate.get("fromAmountUSD"), "value to pay"),
        usd_out=reading.dollars(estimate.get("toAmountUSD"), "value to receive"),
        tools=_tools(step),
        tracking={
            "transaction_id": "0x" + transaction_id.hex(),
            "from_chain": source.chain_id,
            "to_chain": target.chain_id,
            "to_address": target.account,
            "tool": tool,
        },
    )


def _source(terms: Json) -> Side:
    return Side(
        _token_chain(terms, "fromChainId", "fromToken"),
        reading.token(reading.members(terms.get("fromToken"), "fromToken").get("address"), "token to pay"),
        reading.account(terms.get("fromAddress"), "payer"),
    )


def _target(terms: Json) -> Side:
    return Side(
        _token_chain(terms, "toChainId", "toToken"),
        reading.token(reading.members(terms.get("toToken"), "toToken").get("address"), "token to receive"),
        reading.account(terms.get("toAddress"), "recipient"),
    )


def _token_chain(terms: Json, chain: str, token: str) -> int:
    """Return a side's chain, which must be the chain of its token."""
    chain_id = reading.chain_id(terms.get(chain))
    of_token = reading.chain_id(reading.members(terms.get(token), token).get("chainId"))
    reading.require_equal(chain_id, of_token, chain)
    return chain_id


def _action(request: Any, source: Side) -> tuple[Action, int]:
    fields = reading.members(request, "transaction")
    if reading.signs(source.account, SolanaTransaction):
        return SolanaTransaction(_serialized(fields.get("data"))), source.chain_id
    if fields.get("from") is not None:
        reading.require_equal(reading.account(fields["from"], "sender"), source.account, "sender")
    gas = reading.quantity(fields["gasLimit"], "gas limit") if fields.get("gasLimit") is not None else None
    call = EvmCall(
        to=reading.account(fields.get("to"), "contract to call"),
        data=reading.data_bytes(fields.get("data"), "call data", limit=_MAX_CALL_BYTES),
        value=reading.quantity(fields["value"], "value") if fields.get("value") is not None else 0,
        gas=gas if gas is None or 0 < gas <= _MAX_GAS else None,
    )
    return call, reading.chain_id(fields.get("chainId"), "transaction's chain")


def _serialized(data: Any) -> bytes:
    """Return the bytes of a Solana transaction. An array of several transactions is rejected."""
    try:
        serialized = base64.b64decode(data, validate=True) if isinstance(data, str) else b""
    except (binascii.Error, ValueError):
        serialized = b""
    if not 0 < len(serialized) <= _SOLANA_PACKET_BYTES:
        raise reading.malformed("Solana transaction")
    return serialized


def _spender(estimate: Json, source: Side) -> str | None:
    """Return the account to approve, or None if no approval is needed."""
    is_skipped = reading.flag(estimate.get("skipApproval"), "skipApproval")
    makes_calls = reading.signs(source.account, EvmCall)
    named = estimate.get("approvalAddress")
    if is_skipped or not makes_calls or source.token == "":
        return None
    if named in (None, "", reading.native_coin(source.account)):
        return None
    return reading.account(named, "spender")


def _fees(costs: Any) -> Iterator[Fee]:
    for cost in reading.items(costs, "fees", limit=_MAX_FEES):
        fields = reading.members(cost, "fee")
        if not isinstance(fields.get("included"), bool):
            raise reading.malformed("fee")
        # The amount may be missing from an included fee, but not from a fee that is paid in addition.
        if fields["included"] and fields.get("amount") is None:
            continue
        yield _fee(
            fields, reading.shown(fields.get("name"), limit=_LONGEST_NAME) or "Fee", fields["included"]
        )


def _gas(costs: Any) -> list[Fee]:
    """Return the total of the gas costs, or its parts if there is no total."""
    fields = [reading.members(cost, "gas") for cost in reading.items(costs, "gas", limit=_MAX_FEES)]
    sums = [cost for cost in fields if cost.get("type") == "SUM"]
    return [
        _fee(cost, reading.shown(cost.get("type"), limit=_LONGEST_NAME), False) for cost in sums or fields
    ]


def _fee(fields: Json, name: str, included: bool) -> Fee:
    token = reading.members(fields.get("token"), "fee's token")
    return Fee(
        name=name,
        symbol=reading.shown(token.get("symbol"), limit=_LONGEST_NAME),
        decimals=reading.whole(token.get("decimals"), "fee's decimals", limit=reading.MAX_DECIMALS),
        chain_id=reading.chain_id(token.get("chainId")),
        token=reading.token(token.get("address"), "fee's token"),
        amount=reading.amount(fields.get("amount"), "fee"),
        usd=reading.dollars(fields.get("amountUSD"), "fee's value"),
        included=included,
    )


def _tools(step: Json) -> tuple[Tool, ...]:
    """Return the route's bridges and exchanges, each once. LI.FI's own fee collection is left out."""
    included = [
        reading.members(part, "step")
        for part in reading.items(step.get("includedSteps"), "steps", limit=_MAX_STEPS)
    ]
    on_the_way = [part for part in included if part.get("type") in ("swap", "cross")] or [step]
    tools = {tool.key: tool for tool in map(_tool, on_the_way)}
    return tuple(tools.values())


def _tool(part: Json) -> Tool:
    details = part.get("toolDetails")
    key = reading.word(part.get("tool"), "tool")
    name = details.get("name") if isinstance(details, dict) else None
    return Tool(key, reading.shown(name, limit=_LONGEST_NAME) or key)


def no_offer_from(body: Json) -> NoOffer:
    """Return why LI.FI doesn't quote. LI.FI's errors have two forms."""
    codes = set(_tool_errors(body.get("errors")))
    return NoOffer(
        next((ours for theirs, ours in _TOOL_ERRORS.items() if theirs in codes), NoOfferCode.NO_ROUTE)
    )


def _tool_errors(errors: Any) -> Iterator[str]:
    if isinstance(errors, list):
        yield from _codes(errors)
    elif isinstance(errors, dict) and isinstance(errors.get("failed"), list):
        for path in errors["failed"]:
            subpaths = path.get("subpaths") if isinstance(path, dict) else None
            for of_path in subpaths.values() if isinstance(subpaths, dict) else ():
                yield from _codes(of_path if isinstance(of_path, list) else [])


def _codes(errors: list[Any]) -> Iterator[str]:
    for error in errors:
        if isinstance(error, dict) and isinstance(error.get("code"), str):
            yield error["code"]
