"""The balances of a wallet. `essential` returns the balances that the page shows first, and `discover` the balances of
all known tokens.

No quotes are requested here. Prices are only for display, from the providers' cached token lists.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from chains.models import Chain, Token
from chains.switches import is_offered
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
    """A token with a wallet's balance in base units, and its value in US dollars if a price is known.

    `listed` is the token's entry in a provider's list. Only `discover` sets it. `is_sufficient`: whether the balance is
    probably enough to pay the request, as estimated by prices.
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
    """The balances, with the most useful first, and an error code for each chain that could not be read."""

    held: Sequence[Held]
    unavailable: Mapping[int, ErrorCode] = field(default_factory=dict)


def essential(request: PaymentRequest, wallet: Wallet) -> WalletBalances:
    """Return the balances of the requested token, and of each chain's coin and stablecoins.

    Tokens with a zero balance are included. A token is left out if its contract's response can't be used. The requested
    token comes first, and then the other tokens by value.
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
        is_enough = balance >= request.amount_remaining if is_requested else _may_suffice(balance, usd, due)
        held.append(Held(token, balance, usd, is_requested=is_requested, is_sufficient=is_enough))
    held.sort(key=lambda each: (not each.is_requested, _by_value(each)))
    return WalletBalances(held, fetched.unavailable)


def discover(wallet: Wallet) -> WalletBalances:
    """Return all tokens of the catalogue and of the providers' lists with a balance, by value.

    Tokens that are inactive in the catalogue are left out. If a token is only in a provider's list, its row isn't
    saved.
    """
    prices, rows = _Prices(wallet.chains), _rows(wallet)
    chains = {chain.pk: chain for chain in wallet.chains}
    tokens = {place: token for place, token in rows.items() if token.is_payable and is_offered(token)}
    only_listed = prices.listed.keys() - rows.keys()
    fetched = _fetch(wallet, [*tokens, *only_listed])
    held = []
    for place, balance in _each_balance(fetched):
        if balance > 0:
            token = tokens.get(place) or _listed(chains[place[0]], prices.listed[place])
            usd, price, listed = prices.value(token, balance), prices.of(token), prices.listed.get(place)
            held.append(Held(token, balance, usd, price, listed))
    return WalletBalances(sorted(held, key=_by_value), fetched.unavailable)


class _Prices:
    """The prices of some chains' tokens, from the providers' token lists. Without a list, there are no prices."""

    def __init__(self, chains: Sequence[Chain]) -> None:
        ids = list(dict.fromkeys(chain.pk for chain in chains))
        self.listed = {(each.chain_id, each.token): each for each in token_list.listed_tokens(ids)}

    def of(self, token: Token) -> Decimal | None:
        listed = self.listed.get((token.chain_id, token.contract_address))
        return listed.usd if listed else None

    def value(self, token: Token, amount: int) -> Decimal | None:
        """Return the value of `amount` base units."""
        usd = self.of(token)
        return None if usd is None else Price(usd, token.decimals).value(amount)


def _is_essential(token: Token, request: PaymentRequest) -> bool:
    is_refunded = request.is_refund and token.pk == request.token_id
    if not (token.is_active or is_refunded) or not is_offered(token):
        return False
    return token.pk == request.token_id or token.is_native or STABLECOIN in token.tags


def _may_suffice(balance: int, usd: Decimal | None, due: Decimal | None) -> bool:
    return balance > 0 and (usd is None or due is None or usd >= due)


def _rows(wallet: Wallet) -> dict[Place, Token]:
    """Return all tokens in the catalogue for the wallet's chains, including inactive ones."""
    rows = Token.objects.filter(chain__in=wallet.chains).select_related("chain")
    return {(token.chain_id, token.contract_address): token for token in rows}


def _listed(chain: Chain, listed: ListedToken) -> Token:
    return listed_as_token(chain, listed, listed.decimals)


def _fetch(wallet: Wallet, places: Iterable[Place]) -> ChainBalances:
    addresses: dict[int, list[str]] = {}
    for chain_id, address in places:
        addresses.setdefault(chain_id, []).append(address)
    return fetch_balances(
        wallet.address, {chain: addresses[chain.pk] for chain in wallet.chains if chain.pk in addresses}
    )


def _each_balance(fetched: ChainBalances) -> Iterator[tuple[Place, int]]:
    for chain_id, balances in fetched.balances.items():
        for address, balance in balances.items():
            yield (chain_id, address), balance


def _by_value(held: Held) -> tuple[Decimal, bool, int, str]:
    """Return the sort key.

    The highest value is first. Then come tokens without a price, and last those with a zero balance.
    """
    return -(held.usd or Decimal(0)), held.balance == 0, held.token.chain_id, held.token.contract_address
