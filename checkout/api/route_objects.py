"""How a route looks from outside (contract 8): what leaves the wallet, what arrives, and what is taken on the way."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from chains.amounts import amount_object
from chains.models import Chain, Token
from chains.serializers import TokenSerializer
from checkout.api.representations import chain_object
from config.api.serializers import timestamp
from payments.models import Route
from payments.models.route import PaymentType
from payments.providers import token_list


def route_object(
    route: Route, warnings: Sequence[dict[str, Any]] = (), network_fee: int | None = None
) -> dict[str, Any]:
    """Return one route; its request, the request's token and chain, and its own token and chain are loaded.

    `network_fee` is the estimate for a direct route, in base units of its chain's coin.
    """
    parts = _swap(route) if route.type == PaymentType.SWAP else _direct(route, network_fee)
    return {
        "id": route.id,
        "type": route.type,
        **parts,
        "warnings": list(warnings),
        "provider": route.provider or None,
        "expires_at": timestamp(route.expires_at),
    }


def token_object(token: Token) -> dict[str, Any]:
    """Return a token with its chain; `id` is null where it is not in the catalogue, and named by its address alone."""
    shown = {**TokenSerializer(token).data, "chain_id": token.chain_id}
    return {**shown, "id": None} if token.is_only_listed else shown


def usd_text(value: Decimal | None) -> str | None:
    """Return dollars as people write them, to the cent; None where no price is known."""
    return None if value is None else f"{value:.2f}"


def _direct(route: Route, network_fee: int | None) -> dict[str, Any]:
    """Return a direct route: what leaves the wallet arrives, and only the network takes a fee."""
    side = _side(route.chain, route.token, route.amount, None)
    block_seconds = route.chain.block_time_ms / 1000
    confirmations = int(route.chain.confirmations) if route.chain.confirmations.isdigit() else None
    return {
        "from": side,
        "to": {**side, "amount_min": side["amount"]},
        "fees": [],
        "gas": _network_fee(route.chain, network_fee),
        "duration_seconds": round(block_seconds * (confirmations + 1)) if confirmations is not None else None,
        "steps": [_transfer(route)],
        "tags": ["recommended", "cheapest", "fastest"],
    }


def _network_fee(chain: Chain, fee: int | None) -> dict[str, Any]:
    decimals = chain.family.native_decimals
    usd = None if fee is None else token_list.usd_value(chain.pk, "", fee, decimals)
    return {
        "token": {"symbol": chain.native_symbol},
        "amount": None if fee is None else amount_object(fee, decimals),
        "usd": usd_text(usd),
    }


def _swap(route: Route) -> dict[str, Any]:
    """Return a provider's route, as it stood in the quote that it was made of."""
    told, request = route.details, route.request
    arriving = _side(request.chain, request.token, int(told["amount_out"]), _dollars(told["usd_out"]))
    least = amount_object(int(told["amount_out_min"]), request.token.decimals)
    return {
        "from": _side(route.chain, route.token, route.amount, _dollars(told["usd_in"])),
        "to": {**arriving, "amount_min": least},
        "fees": [_fee(fee) for fee in told["fees"]],
        "gas": _gas(route.chain, told["gas"]),
        "duration_seconds": told["duration_seconds"],
        "steps": _steps(route),
        "tags": told["tags"],
    }


def _side(chain: Chain, token: Token, amount: int, usd: Decimal | None) -> dict[str, Any]:
    return {
        "chain_id": chain.pk,
        "chain": chain_object(chain),
        "token": token_object(token),
        "amount": amount_object(amount, token.decimals),
        "usd": usd_text(usd),
    }


def _fee(fee: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": fee["name"],
        "token": {
            "symbol": fee["symbol"],
            "decimals": fee["decimals"],
            "contract_address": fee["token"],
            "chain_id": fee["chain_id"],
        },
        "amount": amount_object(int(fee["amount"]), fee["decimals"]),
        "usd": usd_text(_dollars(fee["usd"])),
        "included": fee["included"],
    }


def _gas(chain: Chain, told: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the network's fee as the provider estimates it; no amount unless all of it is in the chain's own coin."""
    is_native = bool(told) and all(fee["chain_id"] == chain.pk and fee["token"] == "" for fee in told)
    total = amount_object(sum(int(fee["amount"]) for fee in told), told[0]["decimals"]) if is_native else None
    dollars = [_dollars(fee["usd"]) for fee in told]
    known = [each for each in dollars if each is not None]
    return {
        "token": {"symbol": chain.native_symbol},
        "amount": total,
        "usd": usd_text(sum(known, Decimal(0))) if is_native and len(known) == len(told) else None,
    }


def _steps(route: Route) -> list[dict[str, Any]]:
    told, request = route.details, route.request
    steps = []
    if told["spender"]:
        steps.append(_step("approve", route.chain_id, spender=told["spender"]))
    kind = "swap" if route.chain_id == request.chain_id else "bridge"
    names = [tool["name"] or tool["key"] for tool in told["tools"]] or [None]
    steps += [_step(kind, route.chain_id, tool=name, contract_address=told["calls"]) for name in names]
    return [*steps, _transfer(route)]


def _transfer(route: Route) -> dict[str, Any]:
    request = route.request
    return _step("transfer", request.chain_id, recipient_address=request.recipient_address)


def _step(kind: str, chain_id: int, **told: Any) -> dict[str, Any]:
    nothing = {"tool": None, "contract_address": None, "spender": None, "recipient_address": None}
    return {"type": kind, "chain_id": chain_id, **nothing, **told}


def _dollars(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)
