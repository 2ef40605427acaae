"""Find the balances of a merchant's deposit addresses, and build unsigned transactions that sweep them.

Any account may sign and send the transactions. The signer pays the gas, but the money can only go to the
recipients of the requests.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from chains.client import ChainClient, EvmCall
from chains.families import get_client
from chains.families.base import DepositContracts, Sweep
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models import DepositAddress, PaymentRequest

MAX_SWEEPS = 100
"""The maximum number of sweeps in a transaction. If all addresses are new, it uses most of Ethereum's gas limit."""
_ALL = slice(None)
_PLACES_AT_ONCE = 10_000


@dataclass(frozen=True)
class Waiting:
    """The amount of one token or native coin to sweep, in base units. `sweeps` has one sweep for each address
    that holds it.

    If the requests of these addresses are for this token, `is_requested` is True, and arrivals are credited. A token
    that was sent by mistake is swept but not credited.
    """

    token: Token
    is_requested: bool
    amount: int
    sweeps: tuple[Sweep, ...]

    @property
    def addresses(self) -> int:
        return len(self.sweeps)


@dataclass(frozen=True)
class SweepPlan:
    """The amounts to sweep, requested tokens first.

    `unknown` lists tokens whose contract did not return every balance. The missing balances are not swept.
    `older` lists addresses of an earlier release with other contracts. Those addresses are not swept either.
    """

    contracts: DepositContracts
    waiting: tuple[Waiting, ...]
    unknown: tuple[Token, ...] = ()
    older: tuple[str, ...] = ()

    @property
    def calls(self) -> tuple[EvmCall, ...]:
        sweeps = [sweep for each in self.waiting for sweep in each.sweeps]
        return tuple(call for call, _ in self.batches(sweeps))

    def batches(self, sweeps: Sequence[Sweep]) -> list[tuple[EvmCall, int]]:
        """Return the calls that make these sweeps, each with the number of sweeps in it."""
        parts = [sweeps[start : start + MAX_SWEEPS] for start in range(0, len(sweeps), MAX_SWEEPS)]
        return [(self.contracts.sweep(part), len(part)) for part in parts]


def addresses_of(merchant: Merchant) -> QuerySet[DepositAddress]:
    """Return the merchant's shown addresses, newest first."""
    return DepositAddress.objects.filter(request__merchant=merchant).order_by("-shown_at", "-pk")


def plan_sweeps(
    merchant: Merchant,
    chain: Chain,
    *,
    client: Callable[[Chain], ChainClient] = get_client,
    newest: slice = _ALL,
) -> SweepPlan:
    """Read the balances of the merchant's addresses on a chain, and plan their sweeps.

    `newest` is a slice of the addresses, newest first. Raises LookupError if the chain has no deposit addresses,
    and ChainError.
    """
    contracts = chain.family.deposits if chain.is_installed else None
    if contracts is None:
        raise LookupError(f"{chain.name}: chains of this kind have no deposit addresses")
    rows = addresses_of(merchant).filter(chain=chain).select_related("request")[newest]
    found: dict[str, tuple[DepositAddress, str]] = {}
    older: list[str] = []
    for each in rows:
        deposit = contracts.deposit_of(each.recipient_address, each.request_id)
        if deposit.address == each.address:
            found[each.address] = each, deposit.salt
        else:
            older.append(each.address)
    tokens = list(_tokens(merchant, chain)) if found else []
    balances = _balances(
        client, chain, [(place, each.contract_address) for place in found for each in tokens]
    )
    grouped: dict[tuple[bool, Token], list[tuple[int, Sweep]]] = defaultdict(list)
    unknown: list[Token] = []
    for token in tokens:
        contract = token.contract_address
        for place, (row, salt) in found.items():
            amount = balances.get((place, contract))
            if amount:
                is_requested = row.request.token_id == token.pk
                grouped[is_requested, token].append((amount, Sweep(row.recipient_address, salt, contract)))
            elif amount is None and token not in unknown:
                unknown.append(token)
    # Requested tokens first. `sorted` is stable, so both groups keep the order of the catalogue.
    groups = sorted(grouped.items(), key=lambda group: not group[0][0])
    waiting = (
        Waiting(token, is_requested, sum(amount for amount, _ in held), tuple(sweep for _, sweep in held))
        for (is_requested, token), held in groups
    )
    return SweepPlan(contracts, tuple(waiting), tuple(unknown), tuple(older))


def _tokens(merchant: Merchant, chain: Chain) -> QuerySet[Token]:
    """Return the tokens whose balances are read.

    These are the active tokens, and the tokens of the merchant's requests that have a deposit address.
    """
    asked_for = PaymentRequest.objects.filter(merchant=merchant, chain=chain, deposit__isnull=False)
    is_wanted = Q(is_active=True) | Q(pk__in=asked_for.values("token"))
    return Token.objects.filter(is_wanted, chain=chain).order_by("pk")


def _balances(
    client: Callable[[Chain], ChainClient], chain: Chain, places: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    """Return the balance of each (address, token). A pair is missing if the token's contract returns no balance."""
    balances: dict[tuple[str, str], int] = {}
    for start in range(0, len(places), _PLACES_AT_ONCE):
        balances |= client(chain).holdings(places[start : start + _PLACES_AT_ONCE])
    return balances
