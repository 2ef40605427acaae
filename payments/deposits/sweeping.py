"""Find what one merchant's deposit addresses hold, and build the unsigned transactions that sweep it.

Any account may send them. It pays the gas, and everything goes to the requests' recipients.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from chains.client import ChainClient, EvmCall
from chains.families import get_client
from chains.families.base import DepositContracts, Sweep
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import DepositAddress, PaymentRequest

MAX_SWEEPS = 100
"""The maximum number of sweeps of a transaction: with new addresses, they take most of Ethereum's limit of gas."""
_PLACES_AT_ONCE = 10_000


@dataclass(frozen=True)
class Waiting:
    """The amount of one token (or native coin) to sweep, in base units, and the number of addresses that hold it."""

    token: Token
    amount: int
    addresses: int


@dataclass(frozen=True)
class SweepPlan:
    """What waits to be swept, by token, and the calls that sweep it.

    `older` are the addresses that an earlier release computed with other contracts. They are not swept.
    """

    waiting: tuple[Waiting, ...]
    calls: tuple[EvmCall, ...]
    older: tuple[str, ...] = ()


def plan_sweeps(
    merchant: Merchant, chain: Chain, *, client: Callable[[Chain], ChainClient] = get_client
) -> SweepPlan:
    """Return what the merchant's shown addresses on the chain hold, and the calls that sweep it.

    Raises LookupError if the chain has no deposit addresses, and ChainError.
    """
    contracts = chain.family.deposits if chain.is_installed else None
    if contracts is None:
        raise LookupError(f"{chain.name}: chains of this kind have no deposit addresses")
    rows = DepositAddress.objects.filter(chain=chain, request__merchant=merchant).order_by("shown_at", "pk")
    salts: dict[str, tuple[str, str]] = {}
    older: list[str] = []
    for each in rows:
        deposit = contracts.deposit_of(each.recipient_address, each.request_id)
        if deposit.address == each.address:
            salts[each.address] = each.recipient_address, deposit.salt
        else:
            older.append(each.address)
    tokens = {token.contract_address: token for token in _tokens(merchant, chain)} if salts else {}
    held = dict(_held(client, chain, [(address, token) for address in salts for token in tokens]))
    sweeps = [Sweep(*salts[address], token) for address, token in held]
    waiting = tuple(_waiting(token, held) for token in tokens.values())
    return SweepPlan(
        tuple(each for each in waiting if each.amount), tuple(_calls(contracts, sweeps)), tuple(older)
    )


def _tokens(merchant: Merchant, chain: Chain) -> QuerySet[Token]:
    """Return the chain's active tokens, and those of its requests with addresses. Any of them may have been sent."""
    asked_for = PaymentRequest.objects.filter(merchant=merchant, chain=chain, deposit__isnull=False)
    is_wanted = Q(is_active=True) | Q(pk__in=asked_for.values("token"))
    return Token.objects.filter(is_wanted, chain=chain).order_by("pk")


def _held(
    client: Callable[[Chain], ChainClient], chain: Chain, places: Sequence[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield the (address, token) that hold something, in the given order, with the balance."""
    for start in range(0, len(places), _PLACES_AT_ONCE):
        some = places[start : start + _PLACES_AT_ONCE]
        balances = client(chain).holdings(some)
        yield from ((place, balances[place]) for place in some if balances.get(place, 0) > 0)


def _waiting(token: Token, held: dict[tuple[str, str], int]) -> Waiting:
    amounts = [amount for (_, contract), amount in held.items() if contract == token.contract_address]
    return Waiting(token, sum(amounts), len(amounts))


def _calls(contracts: DepositContracts, sweeps: Sequence[Sweep]) -> Iterator[EvmCall]:
    starts = range(0, len(sweeps), MAX_SWEEPS)
    return (contracts.sweep(sweeps[start : start + MAX_SWEEPS]) for start in starts)
