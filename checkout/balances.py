"""What a wallet holds that it could pay with: what the page shows first, and all that is known of it (contract 8).

No routing provider is asked for a quote here. Prices come from the cached list and are for people alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from chains.models import Chain, Token
from checkout.holdings import Holdings, look_at
from checkout.wallets import Wallet
from config.api.errors import ErrorCode
from payments.models import PaymentRequest
from payments.routing import token_list
from payments.routing.acceptance import Price
from payments.routing.base import ListedToken
from payments.swap_tokens import listed_as_token

STABLECOIN = "stablecoin"


@dataclass(frozen=True)
class Held:
    """A token with what a wallet has of it, in base units; dollars are None where no price is known.

    `is_sufficient` says whether it would pay a request's rest, as far as prices tell.
    """

    token: Token
    balance: int
    usd: Decimal | None
    price: Decimal | None = None
    is_requested: bool = False
    is_sufficient: bool = False


@dataclass(frozen=True)
class Found:
    """What was found, the best first, and the chains that told nothing, with why."""

    held: Sequence[Held]
    unavailable: Mapping[int, ErrorCode] = field(default_factory=dict)


def essential(request: PaymentRequest, wallet: Wallet) -> Found:
    """Return the requested token, and the coin and the stablecoins of each of the wallet's chains.

    Each stands there even if the wallet has none of it, but where its contract gave no sound answer. The requested one
    comes first, the others by value.
    """
    tokens = [token for token in _catalogue(wallet.chains) if _is_essential(token, request)]
    holdings = _look_at(wallet, tokens)
    prices = _Prices([*wallet.chains, request.chain])
    due = prices.value(request.token, request.amount_remaining)
    held = []
    for token, balance in _found(tokens, holdings):
        usd = prices.value(token, balance)
        is_requested = token.pk == request.token_id
        enough = balance >= request.amount_remaining if is_requested else _would_do(balance, usd, due)
        held.append(Held(token, balance, usd, is_requested=is_requested, is_sufficient=enough))
    return Found(
        sorted(held, key=lambda each: (not each.is_requested, _by_value(each))), holdings.unavailable
    )


def discover(wallet: Wallet) -> Found:
    """Return every token of the catalogue and of the providers' lists that the wallet has some of, by value."""
    prices = _Prices(wallet.chains)
    tokens = _payable(wallet.chains, prices.listed.values())
    holdings = _look_at(wallet, tokens)
    held = [
        Held(token, balance, prices.value(token, balance), prices.of(token))
        for token, balance in _found(tokens, holdings)
        if balance > 0
    ]
    return Found(sorted(held, key=_by_value), holdings.unavailable)


class _Prices:
    """What the providers list on some chains, read once; while no list can be had there is nothing in it."""

    def __init__(self, chains: Sequence[Chain]) -> None:
        ids = list(dict.fromkeys(chain.pk for chain in chains))
        self.listed = {(each.chain_id, each.token): each for each in token_list.listed_tokens(ids)}

    def of(self, token: Token) -> Decimal | None:
        """Return what one whole token costs, None where that is not known."""
        listed = self.listed.get((token.chain_id, token.contract_address))
        return listed.usd if listed else None

    def value(self, token: Token, amount: int) -> Decimal | None:
        """Return what so many base units are worth, by the decimals that we know."""
        usd = self.of(token)
        return None if usd is None else Price(usd, token.decimals).value(amount)


def _is_essential(token: Token, request: PaymentRequest) -> bool:
    return token.pk == request.token_id or token.is_native or STABLECOIN in token.tags


def _would_do(balance: int, usd: Decimal | None, due: Decimal | None) -> bool:
    return balance > 0 and (usd is None or due is None or usd >= due)


def _catalogue(chains: Sequence[Chain]) -> list[Token]:
    """Return the chains' active tokens, each with its chain."""
    return list(Token.objects.filter(chain__in=chains, is_active=True).select_related("chain"))


def _payable(chains: Sequence[Chain], listed: Iterable[ListedToken]) -> list[Token]:
    """Return all that can be paid with on these chains: the catalogue's tokens, and what the providers list beyond it.

    The latter have no row before the first route is kept. A token that is switched off in the catalogue is left out.
    """
    rows = list(Token.objects.filter(chain__in=chains).select_related("chain"))
    known = {(token.chain_id, token.contract_address) for token in rows}
    by_id = {chain.pk: chain for chain in chains}
    beyond = [
        listed_as_token(by_id[each.chain_id], each, each.decimals)
        for each in listed
        if each.chain_id in by_id and (each.chain_id, each.token) not in known
    ]
    return [*(token for token in rows if token.is_payable), *beyond]


def _look_at(wallet: Wallet, tokens: Iterable[Token]) -> Holdings:
    asked: dict[Chain, list[str]] = {chain: [] for chain in wallet.chains}
    for token in tokens:
        asked[token.chain].append(token.contract_address)
    return look_at(wallet.address, {chain: addresses for chain, addresses in asked.items() if addresses})


def _found(tokens: Iterable[Token], holdings: Holdings) -> Iterator[tuple[Token, int]]:
    for token in tokens:
        balance = holdings.balances.get(token.chain_id, {}).get(token.contract_address)
        if balance is not None:
            yield token, balance


def _by_value(held: Held) -> tuple[Decimal, bool, int, str]:
    """Return what sorts the most valuable first; what has no price comes after what has one, the empty last."""
    return -(held.usd or Decimal(0)), held.balance == 0, held.token.chain_id, held.token.contract_address
