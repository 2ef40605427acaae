"""Routes in API responses: the amounts sent and received, and the fees."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from chains.api.objects import AmountObject
from chains.models import Chain, Token
from checkout.api.checkout_object import CheckoutChain
from checkout.api.route_examples import ARRIVING, FEE, ROUTE, SIDE, STEP, WARNING
from checkout.api.route_warnings import MAY_NEED_ACCEPTANCE, Warned
from config.api.answers import Answer, NonEmpty, Time, doc, one_of
from config.api.schema.operations import described
from config.api.serializers import required_timestamp
from payments.api.objects import PaymentTypeText
from payments.models import Route
from payments.models.route import PaymentType
from payments.providers import token_list
from payments.providers.base import NoOfferCode

DEPOSIT_NAME = "Account deposit"
_CENT = Decimal("0.01")


def dollars(meaning: str) -> msgspec.Meta:
    """Return the description of a field that holds US dollars."""
    return doc(
        f"{meaning} A string in US dollars, rounded to the cent; below one cent, rounded to two significant digits. "
        "Null if no price is known."
    )


@described("RouteToken", "A token on a chain.", SIDE["token"])
class RouteToken(Answer, kw_only=True):
    id: Annotated[
        int | None,
        doc(
            "The value to send as `token_id`. Null for a token outside the catalogue; send its address as "
            "`token_address` instead."
        ),
    ]
    symbol: Annotated[str, doc("The symbol, for display only. Other tokens can have the same symbol.")]
    name: Annotated[str, doc("The display name.")]
    decimals: Annotated[int, doc("The number of decimals.")]
    contract_address: Annotated[
        str, doc("The token's contract on EVM, or its mint on Solana; empty for native coin.")
    ]
    chain_id: Annotated[int, doc("The token's chain.")]

    @classmethod
    def of(cls, token: Token) -> "RouteToken":
        """Return a token with its chain. `id` is null if the token is not in the catalogue."""
        return cls(
            id=None if token.is_only_listed else token.id,
            symbol=token.symbol,
            name=token.name,
            decimals=token.decimals,
            contract_address=token.contract_address,
            chain_id=token.chain_id,
        )


class _Side(Answer, kw_only=True):
    chain_id: Annotated[int, doc("The chain.")]
    chain: Annotated[CheckoutChain, doc("The details of the chain.")]
    token: Annotated[RouteToken, doc("The token.")]
    amount: Annotated[AmountObject, doc("The amount. In the route's `to`, it is the expected amount.")]
    usd: Annotated[str | None, dollars("The amount's value, according to the provider.")]


@described("RouteFrom", "The tokens that leave the customer's wallet.", SIDE)
class RouteFrom(_Side, kw_only=True):
    """The field `from` of a route."""


@described("RouteTo", "The tokens that arrive in the merchant's wallet.", ARRIVING)
class RouteTo(_Side, kw_only=True):
    amount_min: Annotated[
        AmountObject, doc("The minimum amount that arrives, never less than the remaining amount.")
    ]


@described("RouteFeeToken", "The token of a fee.", FEE["token"])
class RouteFeeToken(Answer, kw_only=True):
    symbol: Annotated[str, doc("The symbol.")]
    decimals: Annotated[int, doc("The number of decimals.", ge=0)]
    contract_address: Annotated[
        str, doc("The token's contract on EVM, or its mint on Solana; empty for native coin.")
    ]
    chain_id: Annotated[int, doc("The token's chain.")]


@described("RouteFee", "A fee of the route.", FEE)
class RouteFee(Answer, kw_only=True):
    name: Annotated[str, doc("The fee's name, from the provider; `Account deposit` on a direct route.")]
    token: Annotated[RouteFeeToken, doc("The fee's token.")]
    amount: Annotated[AmountObject, doc("The amount.")]
    usd: Annotated[str | None, dollars("The fee's value.")]
    included: Annotated[
        bool, doc("Whether `from.amount` includes the fee. If false, the customer pays the fee in addition.")
    ]


@described("RouteGasToken", "The coin that pays the network fee.", ROUTE["gas"]["token"])
class RouteGasToken(Answer, kw_only=True):
    symbol: Annotated[str, doc("The symbol.")]


@described("RouteGas", "The network fee.", ROUTE["gas"])
class RouteGas(Answer, kw_only=True):
    token: Annotated[RouteGasToken, doc("The coin that pays the fee.")]
    amount: Annotated[AmountObject | None, doc("The estimated fee; null if only the wallet can estimate it.")]
    usd: Annotated[str | None, dollars("The fee's value.")]


@described("RouteStep", "A step of the route.", STEP)
class RouteStep(Answer, kw_only=True):
    type: Annotated[
        str,
        doc(
            "`approve`: the wallet allows the router to spend the token; skip this step if it already does. "
            "`swap`, `bridge`: the wallet sends the transaction, and the tool executes it. `transfer`: the merchant "
            "receives the money."
        ),
    ]
    chain_id: Annotated[int, doc("The chain of this step.")]
    tool: Annotated[str | None, doc("The exchange or bridge; null if there is none.")] = None
    contract_address: Annotated[
        str | None,
        doc("The contract that the wallet's transaction calls; null if it calls none or several."),
    ] = None
    spender: Annotated[str | None, doc("The contract to approve; only for `approve`.")] = None
    recipient_address: Annotated[str | None, doc("The recipient; only for `transfer`.")] = None


@described("RouteWarning", "A warning to show before the customer pays by this route.", WARNING)
class RouteWarning(Answer, kw_only=True):
    code: Annotated[
        str,
        one_of(MAY_NEED_ACCEPTANCE),
        doc(
            "`may_need_acceptance`: the wallet is a contract account whose payments the chain's nodes can't verify, "
            "so the merchant may have to accept the payment. More codes may be added."
        ),
    ]
    message: Annotated[str, doc("A human-readable message.")]


@described("Route", "A way to pay exactly the remaining amount.", ROUTE)
class RouteObject(Answer, kw_only=True):
    id: Annotated[str, doc("`rt_` and 24 characters. Use it to build the route's transaction.")]
    type: Annotated[PaymentTypeText, doc("`direct` or `swap`.")]
    from_: Annotated[RouteFrom, doc("The tokens that leave the customer's wallet.")] = msgspec.field(
        name="from"
    )
    to: Annotated[RouteTo, doc("The tokens that arrive in the merchant's wallet.")]
    fees: Annotated[
        list[RouteFee],
        doc(
            "The route's fees. A direct route has none, with one exception on Solana: the first payer pays a deposit "
            "that opens the recipient's token account."
        ),
    ]
    gas: Annotated[RouteGas, doc("The network fee.")]
    duration_seconds: Annotated[
        int | None,
        doc(
            "The estimated time in seconds until the payment is confirmed; null if the chain's finality decides.",
            ge=0,
        ),
    ]
    steps: Annotated[list[RouteStep], doc("The steps, in order.")]
    provider: Annotated[str | None, doc("The routing provider; null for a direct route.")]
    tags: Annotated[list[NonEmpty], doc("Any of `recommended`, `cheapest`, `fastest`.")]
    sponsored: Annotated[
        bool,
        doc(
            "Whether the operator pays the network fee, so that the customer needs no coin for gas. The customer "
            "signs `typed_data` or, on Solana, `transaction`. Send the signature or the signed transaction to "
            "`authorizations`."
        ),
    ]
    warnings: Annotated[list[RouteWarning], doc("Warnings to show before the customer pays; usually empty.")]
    expires_at: Annotated[
        Time, doc("The time at which the route expires. After that, its transaction can't be built.")
    ]


@described(
    "NoRouteReason",
    "Why there is no way to pay with this token.",
    {
        "code": "amount_too_low",
        "message": (
            "This amount is too small to be paid with this token. Choose another token, or pay in USDC on Base."
        ),
    },
)
class NoRouteReason(Answer, kw_only=True):
    code: Annotated[
        str, one_of(*(code.value for code in NoOfferCode)), doc("The reason as a code, for programs.")
    ]
    message: Annotated[str, doc("The reason as a sentence for customers, with an alternative.")]


@described("Routes", "The routes, best first; or the reason why there are none.", {"routes": [ROUTE]})
class Routes(Answer, kw_only=True):
    routes: Annotated[list[RouteObject], doc("The routes; may be empty.")]
    reason: Annotated[
        NoRouteReason | UnsetType, doc("Why there are no routes; missing if there are any.")
    ] = UNSET


def route_object(
    route: Route, warnings: Sequence[Warned], network_fee: int | None, deposit: int
) -> RouteObject:
    """Return one route.

    Before the call, load the route's token, chain and request, and the token and chain of that request. `network_fee`
    and `deposit` are estimates for a direct route, in base units of the chain's coin. The deposit pays for the
    recipient's new token account.
    """
    parts = _swap(route) if route.type == PaymentType.SWAP else _direct(route, network_fee, deposit)
    return RouteObject(
        id=route.id,
        type=route.type,
        **parts,
        warnings=[RouteWarning(code=warning.code, message=warning.message) for warning in warnings],
        provider=route.provider or None,
        sponsored=route.is_sponsored,
        expires_at=required_timestamp(route.expires_at),
    )


def usd_text(value: Decimal | None) -> str | None:
    """Return US dollars as text, rounded to the cent.

    Below a cent, there are two significant digits. Return None if unknown.
    """
    if value is None or value == 0 or value >= _CENT:
        return None if value is None else f"{value:.2f}"
    return f"{value.quantize(Decimal(1).scaleb(value.adjusted() - 1)):f}"


def _direct(route: Route, network_fee: int | None, deposit: int) -> dict[str, Any]:
    """Return the fields of a direct route.

    The recipient receives the whole amount. The customer pays the network fee and any deposit in addition.
    """
    token = route.token
    usd = token_list.usd_value(route.chain_id, token.contract_address, route.amount, token.decimals)
    side = _side(route.chain, token, route.amount, usd)
    block_seconds = route.chain.block_time_ms / 1000
    confirmations = int(route.chain.confirmations) if route.chain.confirmations.isdigit() else None
    return {
        "from_": RouteFrom(**side),
        "to": RouteTo(**side, amount_min=side["amount"]),
        "fees": [_deposit(route.chain, deposit)] if deposit and not route.is_sponsored else [],
        "gas": _network_fee(route.chain, 0 if route.is_sponsored else network_fee),
        "duration_seconds": round(block_seconds * (confirmations + 1)) if confirmations is not None else None,
        "steps": [_transfer(route)],
        "tags": ["recommended", "cheapest", "fastest"],
    }


def _deposit(chain: Chain, deposit: int) -> RouteFee:
    decimals = chain.family.native_decimals
    return RouteFee(
        name=DEPOSIT_NAME,
        token=RouteFeeToken(
            symbol=chain.native_symbol, decimals=decimals, contract_address="", chain_id=chain.pk
        ),
        amount=AmountObject.of(deposit, decimals),
        usd=usd_text(token_list.usd_value(chain.pk, "", deposit, decimals)),
        included=False,
    )


def _network_fee(chain: Chain, fee: int | None) -> RouteGas:
    decimals = chain.family.native_decimals
    usd = None if fee is None else token_list.usd_value(chain.pk, "", fee, decimals)
    return RouteGas(
        token=RouteGasToken(symbol=chain.native_symbol),
        amount=None if fee is None else AmountObject.of(fee, decimals),
        usd=usd_text(usd),
    )


def _swap(route: Route) -> dict[str, Any]:
    quoted, request = route.details, route.request
    arriving = _side(request.chain, request.token, int(quoted["amount_out"]), _dollars(quoted["usd_out"]))
    least = AmountObject.of(int(quoted["amount_out_min"]), request.token.decimals)
    return {
        "from_": RouteFrom(**_side(route.chain, route.token, route.amount, _dollars(quoted["usd_in"]))),
        "to": RouteTo(**arriving, amount_min=least),
        "fees": [_fee(fee) for fee in quoted["fees"]],
        "gas": _gas(route.chain, quoted["gas"]),
        "duration_seconds": quoted["duration_seconds"],
        "steps": _steps(route),
        "tags": quoted["tags"],
    }


def _side(chain: Chain, token: Token, amount: int, usd: Decimal | None) -> dict[str, Any]:
    return {
        "chain_id": chain.pk,
        "chain": CheckoutChain.of(chain),
        "token": RouteToken.of(token),
        "amount": AmountObject.of(amount, token.decimals),
        "usd": usd_text(usd),
    }


def _fee(fee: dict[str, Any]) -> RouteFee:
    return RouteFee(
        name=fee["name"],
        token=RouteFeeToken(
            symbol=fee["symbol"],
            decimals=fee["decimals"],
            contract_address=fee["token"],
            chain_id=fee["chain_id"],
        ),
        amount=AmountObject.of(int(fee["amount"]), fee["decimals"]),
        usd=usd_text(_dollars(fee["usd"])),
        included=fee["included"],
    )


def _gas(chain: Chain, quoted: list[dict[str, Any]]) -> RouteGas:
    """Return the provider's network fee. The fee's amount is null if a part of the fee isn't in the native coin."""
    is_native = bool(quoted) and all(fee["chain_id"] == chain.pk and fee["token"] == "" for fee in quoted)
    total = (
        AmountObject.of(sum(int(fee["amount"]) for fee in quoted), quoted[0]["decimals"])
        if is_native
        else None
    )
    dollars = [_dollars(fee["usd"]) for fee in quoted]
    priced = [each for each in dollars if each is not None]
    return RouteGas(
        token=RouteGasToken(symbol=chain.native_symbol),
        amount=total,
        usd=usd_text(sum(priced, Decimal(0))) if is_native and len(priced) == len(quoted) else None,
    )


def _steps(route: Route) -> list[RouteStep]:
    quoted, request = route.details, route.request
    steps = []
    if quoted["spender"]:
        steps.append(RouteStep(type="approve", chain_id=route.chain_id, spender=quoted["spender"]))
    kind = "swap" if route.chain_id == request.chain_id else "bridge"
    names = [tool["name"] or tool["key"] for tool in quoted["tools"]] or [None]
    steps += [
        RouteStep(type=kind, chain_id=route.chain_id, tool=name, contract_address=quoted["calls"])
        for name in names
    ]
    return [*steps, _transfer(route)]


def _transfer(route: Route) -> RouteStep:
    request = route.request
    return RouteStep(type="transfer", chain_id=request.chain_id, recipient_address=request.recipient_address)


def _dollars(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)
