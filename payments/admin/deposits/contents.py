"""The portal's view of unswept amounts at a merchant's deposit addresses, with unsigned transactions that sweep
them.
"""

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chains.client import ChainClient, ChainError, EvmCall
from chains.families import get_client
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.admin.records import exact_amount
from payments.deposits.sweeping import plan_sweeps

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Transaction:
    """An unsigned transaction with its number of sweeps. `gas` is a node's estimate, "" if unknown."""

    sweeps: int
    gas: str


@dataclass(frozen=True)
class Asset:
    """The unswept amount of one token. `unsigned` is JSON: the transactions that sweep it."""

    token: Token
    is_requested: bool
    amount: str
    addresses: int
    transactions: Sequence[Transaction]
    unsigned: str


@dataclass(frozen=True)
class Contents:
    """The unswept tokens at a range of deposit addresses. If they are unknown, `problem` says why."""

    assets: Sequence[Asset] = ()
    unknown: Sequence[Token] = ()
    older: Sequence[str] = ()
    problem: str = ""

    @property
    def requested(self) -> list[Asset]:
        return [asset for asset in self.assets if asset.is_requested]

    @property
    def recoverable(self) -> list[Asset]:
        return [asset for asset in self.assets if not asset.is_requested]


def contents_of(
    merchant: Merchant,
    chain: Chain,
    newest: slice,
    *,
    client: Callable[[Chain], ChainClient] = get_client,
) -> Contents:
    """Query a node for the balances of a range of the merchant's addresses. Estimate the gas of the sweeps."""
    try:
        plan = plan_sweeps(merchant, chain, client=client, newest=newest)
    except LookupError as error:
        return Contents(problem=f"{error}.")
    except ChainError as error:
        logger.warning("the balances of deposit addresses on %s are unknown: %s", chain.name, error)
        return Contents(problem=f"No node of {chain.name} returned the balances. Try again in a few seconds.")
    batches = [plan.batches(waiting.sweeps) for waiting in plan.waiting]
    gas = iter(_estimates(chain, client, [call for some in batches for call, _ in some]))
    assets = [
        Asset(
            token=waiting.token,
            is_requested=waiting.is_requested,
            amount=f"{exact_amount(waiting.amount, waiting.token.decimals)} {waiting.token.symbol}",
            addresses=waiting.addresses,
            transactions=[Transaction(sweeps, _grouped(next(gas))) for _, sweeps in some],
            unsigned=_unsigned([call for call, _ in some]),
        )
        for waiting, some in zip(plan.waiting, batches, strict=True)
    ]
    return Contents(assets, plan.unknown, plan.older)


def _estimates(
    chain: Chain, client: Callable[[Chain], ChainClient], calls: Sequence[EvmCall]
) -> Sequence[int | None]:
    try:
        return client(chain).estimated_gas(calls) if calls else ()
    except ChainError as error:
        logger.warning("the gas of sweeps on %s is unknown: %s", chain.name, error)
        return [None for _ in calls]


def _grouped(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _unsigned(calls: Sequence[EvmCall]) -> str:
    """Return the transactions as `manage.py build_sweep` prints them."""
    rows = [{"to": call.to, "data": f"0x{call.data.hex()}", "value": hex(call.value)} for call in calls]
    return json.dumps(rows)
