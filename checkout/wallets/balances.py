"""What a wallet holds that it could pay with: what the page shows first, and everything that is known of it.

No routing provider is asked for a quote here. Prices come from the cached list and are for people alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from chains.models import Chain, Token
from checkout.wallets.chain_balances import ChainBalances, fetch_balances
from checkout.wallets.chains import Wallet
from config.api.errors import ErrorCode
from payments.models import PaymentRequest
from payments.providers import token_list
from payments.providers.base import ListedToken
from payments.providers.offer_checks import Price
from payments.routes.tokens import listed_as_token

STABLECOIN = "stablecoin"

Place = tuple[int, str]
"""A chain's id, and a token's address on it."""


@dataclass(frozen=True)
class Held:
    """A token with what a wallet has of it, in base units; dollars are None where no price is known.

    `listed` is its entry in a provider's list, which may name a logo; `discover` alone gives it.
    `is_sufficient` says whether it would pay a request's rest, as far as prices tell.
    """

    token: Token
    balance: int
    usd: Decimal | None
    price: Decimal | None = None
    listed: ListedToken | None = None
    is_requested: bool = False
    is_sufficient: bool = False


@dataclass(frozen=True)
class WalletBalances:
    """The balances, the best first, and the chains that gave no answer, with why."""

    held: Sequence[Held]
    unavailable: Mapping[int, ErrorCode] = field(default_factory=dict)


def essential(request: PaymentRequest, wallet: Wallet) -> WalletBalances:
    """Return the requested token, and the coin and the stablecoins of each of the wallet's chains.

    Each is listed even if the wallet has none of it, unless its contract gave no usable answer. The requested one
    comes first, the others by value.
    """
    tokens = {place: token for place, token in _rows(wallet).items() if _is_essential(token, request)}
    fetched = _fetch(wallet, tokens)
    prices = _Prices([*wallet.chains, request.chain])
    due = prices.value(request.token, request.amount_remaining)
    held = []
    for place, balance in _each_balance(fetched):
        token = tokens[place]
        usd = prices.value(token, balance)
        is_requested = token.pk == request.token_id
        enough = balance >= request.amount_remaining if is_requested else _would_do(balance, usd, due)
        held.append(Held(token, balance, usd, is_requested=is_requested, is_sufficient=enough))
    held.sort(key=lambda each: (not each.is_requested, _by_value(each)))
    return WalletBalances(held, fetched.unavailable)


def discover(wallet: Wallet) -> WalletBalances:
    """Return every token of the catalogue and of the providers' lists that the wallet has some of, by value.

    A token that is switched off in the catalogue is left out, whichever list has it. A token that only
    a list has is looked up by its address, and becomes a token without a row where the wallet has some: lists are long.
    """
    prices, rows = _Prices(wallet.chains), _rows(wallet)
    chains = {chain.pk: chain for chain in wallet.chains}
    tokens = {place: token for place, token in rows.items() if token.is_payable}
    beyond = prices.listed.keys() - rows.keys()
    fetched = _fetch(wallet, [*tokens, *beyond])
    held = []
    for place, balance in _each_balance(fetched):
        if balance > 0:
            token = tokens.get(place) or _listed(chains[place[0]], prices.listed[place])
            usd, price, listed = prices.value(token, balance), prices.of(token), prices.listed.get(place)
            held.append(Held(token, balance, usd, price, listed))
    return WalletBalances(sorted(held, key=_by_value), fetched.unavailable)


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
    return token.is_active and (token.pk == request.token_id or token.is_native or STABLECOIN in token.tags)


def _would_do(balance: int, usd: Decimal | None, due: Decimal | None) -> bool:
    return balance > 0 and (usd is None or due is None or usd >= due)


def _rows(wallet: Wallet) -> dict[Place, Token]:
    """Return all tokens that have a row on the wallet's chains, whether they can be paid with or not."""
    rows = Token.objects.filter(chain__in=wallet.chains).select_related("chain")
    return {(token.chain_id, token.contract_address): token for token in rows}


def _listed(chain: Chain, listed: ListedToken) -> Token:
    return listed_as_token(chain, listed, listed.decimals)


def _fetch(wallet: Wallet, places: Iterable[Place]) -> ChainBalances:
    asked: dict[int, list[str]] = {}
    for chain_id, address in places:
        asked.setdefault(chain_id, []).append(address)
    return fetch_balances(
        wallet.address, {chain: asked[chain.pk] for chain in wallet.chains if chain.pk in asked}
    )


def _each_balance(fetched: ChainBalances) -> Iterator[tuple[Place, int]]:
    for chain_id, balances in fetched.balances.items():
        for address, balance in balances.items():
            yield (chain_id, address), balance


def _by_value(held: Held) -> tuple[Decimal, bool, int, str]:
    """Return what sorts the most valuable first; what has no price comes after what has one, the empty last."""
    return -(held.usd or Decimal(0)), held.balance == 0, held.token.chain_id, held.token.contract_address
