"""The aggregator's correct responses, in the format of LI.FI's API. As in that API, amounts are strings."""

import base64
from decimal import Decimal
from typing import Any

from demo.aggregator import contracts, pricing
from demo.aggregator.book import Delivery, Swap
from demo.aggregator.places import EVM, SVM_NATIVE, Place, Places, Token
from demo.aggregator.pricing import Tool

Json = dict[str, Any]
_MULTICALL = "0xcA11bde05977b3631167028862bE2a173976CA11"
_ICON = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E"
_MESSAGES = {
    "COMPLETED": "The transfer is complete.",
    "PARTIAL": "The transfer was completed, but with another token.",
    "REFUNDED": "The tokens were sent back.",
    "WAIT_DESTINATION_TRANSACTION": "The bridge is waiting for the destination transaction.",
}


def chain(place: Place) -> Json:
    """A row of `/v1/chains`."""
    native = {
        "name": place.native.name,
        "symbol": place.native.symbol,
        "decimals": place.native.decimals,
    }
    answer = {
        "key": place.key,
        "chainType": place.kind,
        "name": place.name,
        "coin": place.native.symbol,
        "id": place.id,
        "mainnet": False,
        "logoURI": _ICON,
        "faucetUrls": [],
        "metamask": {
            "chainId": hex(place.id),
            "blockExplorerUrls": [],
            "chainName": place.name,
            "nativeCurrency": native,
            "rpcUrls": [place.url],
        },
        "nativeToken": token(place.native),
    }
    return answer | (
        {"multicallAddress": _MULTICALL, "diamondAddress": contracts.ROUTER} if place.kind == EVM else {}
    )


def token(of: Token) -> Json:
    return {
        "address": of.address,
        "chainId": of.chain_id,
        "symbol": of.symbol,
        "decimals": of.decimals,
        "name": of.name,
        "coinKey": of.symbol,
        "logoURI": _ICON,
        "priceUSD": str(of.price),
    }


def step(swap: Swap, places: Places, slippage: Decimal, gas_price: int) -> Json:
    """Return the response of `/v1/quote` and `/v1/quote/toAmount`."""
    source = places[swap.from_token.chain_id]
    tool = _tool(swap)
    action = {
        "fromChainId": swap.from_token.chain_id,
        "toChainId": swap.to_token.chain_id,
        "fromToken": token(swap.from_token),
        "toToken": token(swap.to_token),
        "fromAmount": str(swap.amount_in),
        "slippage": float(slippage),
        "fromAddress": swap.sender,
        "toAddress": swap.recipient,
    }
    estimate = _estimate(swap, source, tool, gas_price)
    included = {
        "id": swap.step_id.partition(":")[0],
        "type": "swap" if swap.stays_on_chain else "cross",
        "tool": tool.key,
        "toolDetails": _details(tool),
        "action": action,
        "estimate": estimate,
    }
    return {
        "type": "lifi",
        "id": swap.step_id,
        "tool": tool.key,
        "toolDetails": _details(tool),
        "action": action,
        "estimate": estimate,
        "includedSteps": [included],
        "integrator": swap.integrator,
        "transactionRequest": _transaction(swap, source, gas_price),
        "transactionId": "0x" + swap.id.hex(),
    }


def status(swap: Swap, places: Places) -> Json:
    """Return the response of `/v1/status` for a swap whose source transaction has been seen."""
    source = places[swap.from_token.chain_id]
    words = _words(swap)
    answer: Json = {
        "transactionId": "0x" + swap.id.hex(),
        "sending": {
            "txHash": swap.taken_by,
            "txLink": f"{source.url}/tx/{swap.taken_by}",
            "amount": str(swap.amount_in),
            "amountUSD": usd(swap.from_token.value(swap.amount_in)),
            "token": token(swap.from_token),
            "chainId": source.id,
            "value": str(swap.bridge_fee + (swap.amount_in if swap.from_token.is_native else 0)),
            "timestamp": swap.taken_at,
            "includedSteps": [],
            **_gas_used(source),
        },
        "receiving": _receiving(swap.delivery, places)
        if swap.delivery
        else {"chainId": swap.to_token.chain_id},
        "feeCosts": _fees(swap, source),
        "lifiExplorerLink": f"tx/{swap.taken_by}",  # relative to the aggregator's own URL
        "fromAddress": _lowered(source, swap.sender),
        "toAddress": _lowered(places[swap.to_token.chain_id], swap.recipient),
        "tool": swap.tool,
        "status": words[0],
        "substatus": words[1],
        "substatusMessage": _MESSAGES[words[1]],
        "metadata": {"integrator": swap.integrator},
    }
    return answer


def in_words(swap: Swap, places: Places) -> str:
    lines = [
        f"Quote {swap.step_id}, by {_tool(swap).name}",
        f"Taken      {_amount(swap.amount_in, swap.from_token, places)} from {swap.sender}",
        f"           by {swap.taken_by}",
    ]
    if swap.delivery:
        given, of = swap.delivery, swap.delivery.token
        lines += [
            f"{swap.kind.capitalize():10} {_amount(given.amount, of, places)} to {given.recipient}",
            f"           by {given.hash}",
        ]
    else:
        promised = _amount(swap.amount_out, swap.to_token, places)
        lines.append(f"Not yet delivered: {promised} to {swap.recipient}")
    return "\n".join(lines) + "\n"


def usd(value: Decimal) -> str:
    """Return a value in US dollars in the API's format."""
    return f"{value:.4f}"


def _amount(units: int, of: Token, places: Places) -> str:
    return f"{Decimal(units).scaleb(-of.decimals):f} {of.symbol} on {places[of.chain_id].name}"


def _words(swap: Swap) -> tuple[str, str]:
    if not swap.delivery:
        return "PENDING", "WAIT_DESTINATION_TRANSACTION"
    return "DONE", {"partial": "PARTIAL", "refunded": "REFUNDED"}.get(swap.kind, "COMPLETED")


def _receiving(delivery: Delivery, places: Places) -> Json:
    place = places[delivery.token.chain_id]
    return {
        "txHash": delivery.hash,
        "txLink": f"{place.url}/tx/{delivery.hash}",
        "amount": str(delivery.amount),
        "amountUSD": usd(delivery.token.value(delivery.amount)),
        "token": token(delivery.token),
        "chainId": place.id,
        "value": "0",
        "timestamp": delivery.time,
        "includedSteps": [],
        **_gas_used(place),
    }


def _estimate(swap: Swap, source: Place, tool: Tool, gas_price: int) -> Json:
    used, cost = pricing.gas(source, gas_price)
    is_evm = source.kind == EVM
    return {
        "tool": tool.key,
        "fromAmount": str(swap.amount_in),
        "fromAmountUSD": usd(swap.from_token.value(swap.amount_in)),
        "toAmount": str(swap.amount_out),
        "toAmountMin": str(swap.amount_out_min),
        "toAmountUSD": usd(swap.to_token.value(swap.amount_out)),
        "approvalAddress": contracts.ROUTER if is_evm else SVM_NATIVE,
        "approvalReset": swap.from_token.symbol == "USDT",
        "feeCosts": _fees(swap, source),
        "gasCosts": [
            {
                "type": "SEND",
                "price": str(gas_price),
                "estimate": str(used),
                "limit": str(used * 13 // 10),
                "amount": str(cost),
                "amountUSD": usd(source.native.value(cost)),
                "token": token(source.native),
            }
        ],
        "executionDuration": tool.seconds,
    }


def _fees(swap: Swap, source: Place) -> list[Json]:
    tool = _tool(swap)
    own = int(swap.amount_in * tool.fee)
    fees = [
        _fee("LIFI Fixed Fee", "Fixed LIFI fee, included", tool.fee, swap.from_token, own, is_included=True)
    ]
    if swap.bridge_fee:
        share = source.native.value(swap.bridge_fee) / swap.from_token.value(swap.amount_in)
        fees.append(
            _fee(
                "Bridge native fee",
                "What the bridge itself takes",
                share,
                source.native,
                swap.bridge_fee,
                is_included=False,
            )
        )
    return fees


def _fee(name: str, about: str, share: Decimal, of: Token, amount: int, *, is_included: bool) -> Json:
    return {
        "name": name,
        "description": about,
        "percentage": f"{share:.4f}",
        "token": token(of),
        "amount": str(amount),
        "amountUSD": usd(of.value(amount)),
        "included": is_included,
    }


def _transaction(swap: Swap, source: Place, gas_price: int) -> Json:
    if source.kind != EVM:
        return {"data": base64.b64encode(swap.data).decode()}
    value = swap.bridge_fee + (swap.amount_in if swap.from_token.is_native else 0)
    return {
        "to": contracts.ROUTER,
        "from": swap.sender,
        "data": "0x" + swap.data.hex(),
        "value": _padded(value),
        "chainId": source.id,
        "gasPrice": _padded(gas_price),
        "gasLimit": _padded(pricing.gas(source, gas_price)[0] * 13 // 10),
    }


def _padded(number: int) -> str:
    """Return a number in hex, with an even number of digits as in LI.FI's responses."""
    digits = f"{number:x}"
    return "0x" + digits.rjust(len(digits) + len(digits) % 2, "0")


def _tool(swap: Swap) -> Tool:
    return next(tool for tool in pricing.TOOLS if tool.key == swap.tool)


def _details(tool: Tool) -> Json:
    return {"key": tool.key, "name": tool.name, "logoURI": _ICON}


def _gas_used(place: Place) -> Json:
    used, cost = pricing.gas(place, 10**9)
    return {
        "gasPrice": str(10**9),
        "gasUsed": str(used),
        "gasToken": token(place.native),
        "gasAmount": str(cost),
        "gasAmountUSD": usd(place.native.value(cost)),
    }


def _lowered(place: Place, account: str) -> str:
    """As in LI.FI's API, EVM accounts in a status are in lower case."""
    return account.lower() if place.kind == EVM else account
