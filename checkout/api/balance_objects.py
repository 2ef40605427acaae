"""A wallet's balances in the API's responses."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from chains.api.objects import AmountObject
from checkout.api.checkout_object import CheckoutChain
from checkout.api.route_examples import SIDE
from checkout.api.route_objects import RouteToken, dollars, usd_text
from checkout.logos import token_logo_url
from checkout.wallets.balances import Held
from config.api.answers import Answer, doc, one_of
from config.api.errors import ErrorCode
from config.api.schema.operations import described

_BALANCE: dict[str, Any] = {
    "chain_id": SIDE["chain_id"],
    "chain": SIDE["chain"],
    "token": SIDE["token"],
    "balance": SIDE["amount"],
    "usd": SIDE["usd"],
    "logo_url": "https://pay.example.com/static/checkout/logos/usdc.svg",
}
_ESSENTIAL = {**_BALANCE, "sufficient": True, "is_requested": False}
_HELD = {**_BALANCE, "price_usd": "1.0001"}
_UNAVAILABLE = {"chain_id": 137, "code": "node_unavailable"}


@described(
    "UnavailableChain", "A chain that could not be read. The other chains' balances are valid.", _UNAVAILABLE
)
class UnavailableChain(Answer, kw_only=True):
    chain_id: Annotated[int, doc("The chain.")]
    code: Annotated[str, one_of(ErrorCode.NODE_UNAVAILABLE.value), doc("The reason. Retry later.")]


def unavailable_chains(chains: Mapping[int, ErrorCode]) -> list[UnavailableChain]:
    return [UnavailableChain(chain_id=chain_id, code=code.value) for chain_id, code in chains.items()]


class _Balance(Answer, kw_only=True):
    chain_id: Annotated[int, doc("The token's chain.")]
    chain: Annotated[CheckoutChain, doc("The details of the chain.")]
    token: Annotated[RouteToken, doc("The token.")]
    balance: Annotated[AmountObject, doc("The wallet's balance of the token.")]
    usd: Annotated[str | None, dollars("The balance's value.")]
    logo_url: Annotated[
        str | None,
        doc(
            "The URL of the token's logo on this deployment; null if it has none. It returns 404 until the "
            "deployment has fetched the logo."
        ),
    ]

    @classmethod
    def of(cls, held: Held, **own: Any) -> Self:
        """Return the balance. Subclasses pass the fields that they add as `own`."""
        token = held.token
        return cls(
            chain_id=token.chain_id,
            chain=CheckoutChain.of(token.chain),
            token=RouteToken.of(token),
            balance=AmountObject.of(held.balance, token.decimals),
            usd=usd_text(held.usd),
            logo_url=token_logo_url(token, held.listed),
            **own,
        )


@described("EssentialBalance", "A wallet's balance of one token that it could pay with.", _ESSENTIAL)
class EssentialBalance(_Balance, kw_only=True):
    sufficient: Annotated[
        bool,
        doc(
            "Whether the balance covers the remaining amount. For tokens other than the requested one, this is "
            "an estimate from prices; without a price, it is true for any balance above zero. List the routes for "
            "an exact result."
        ),
    ]
    is_requested: Annotated[bool, doc("Whether this is the requested token.")]


@described(
    "EssentialBalances",
    "A wallet's balances: the requested token first, then the other tokens by value.",
    {"balances": [_ESSENTIAL], "unavailable": [_UNAVAILABLE]},
)
class EssentialBalances(Answer, kw_only=True):
    balances: Annotated[list[EssentialBalance], doc("The balances, including zero balances.")]
    unavailable: Annotated[list[UnavailableChain], doc("The chains that did not respond in time.")]


def essential_balance(held: Held) -> EssentialBalance:
    return EssentialBalance.of(held, sufficient=held.is_sufficient, is_requested=held.is_requested)


@described("HeldToken", "A token with the wallet's balance.", _HELD)
class HeldToken(_Balance, kw_only=True):
    price_usd: Annotated[str | None, doc("The price of one token in US dollars, as text; null if unknown.")]


@described(
    "WalletTokens",
    "All known tokens of a wallet.",
    {"tokens": [_HELD], "unavailable": [_UNAVAILABLE]},
)
class WalletTokens(Answer, kw_only=True):
    tokens: Annotated[list[HeldToken], doc("The tokens, the most valuable first.")]
    unavailable: Annotated[list[UnavailableChain], doc("The chains that did not respond in time.")]


def held_token(held: Held) -> HeldToken:
    price = None if held.price is None else f"{held.price:f}"
    return HeldToken.of(held, price_usd=price)
