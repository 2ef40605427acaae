"""Check whether a route's spender may take enough tokens, and build the approvals that are missing."""

from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from chains.client import ChainClient, ChainError, EvmCall, Refusal, Spending, TransferRefused
from chains.families import get_client
from chains.families.evm.calls import encode_approval
from payments.models import Quote, Route
from payments.routes.refusals import (
    expired,
    no_node,
    refused,
    require_available,
    require_payable,
    require_switched_on,
)

# The gas limit of a second approval, which can't be simulated before the first is mined. Known tokens need a
# quarter of this limit.
_UNSIMULATED_GAS = 200_000


@dataclass(frozen=True)
class Approval:
    """The spender's current allowance and the allowance that the route needs, in base units of the route's token.

    `transactions` are unsigned and must be sent in order; there are none unless `is_required`. `spender` is None if
    no approval is needed: for direct routes, native coin and Solana.
    """

    is_required: bool
    spender: str | None
    allowance: int
    needed: int
    transactions: tuple[dict[str, Any], ...] = ()


def check_approval(route: Route) -> Approval:
    """Return the approval that the wallet still has to sign, for exactly the route's amount.

    Raises ApiError if the request can't be paid now, the route has expired, the wallet lacks gas, or no node
    responds.
    """
    now = timezone.now()
    require_payable(route.request, now, allow_parallel=True)
    if now >= route.expires_at:
        raise expired()
    require_switched_on(route.request, route.token)
    require_available(route)
    quote = route.quotes.first()
    if quote is None or not quote.spender or route.token.is_native:
        return Approval(False, None, 0, 0)
    try:
        return _approval(route, quote, get_client(route.chain))
    except TransferRefused as refusal:
        raise refused(route, refusal) from refusal
    except ChainError as error:
        raise no_node(route.chain) from error


def _approval(route: Route, quote: Quote, client: ChainClient) -> Approval:
    allowance = client.allowance(route.token.contract_address, route.wallet_address, quote.spender)
    if allowance >= route.amount:
        return Approval(False, quote.spender, allowance, route.amount)

    def approve(amount: int, *, simulate: bool = True) -> dict[str, Any]:
        return _approve(route, quote.spender, amount, client, simulate=simulate)

    transactions: list[dict[str, Any]] = []
    if allowance == 0 or not quote.must_reset_approval:
        try:
            transactions = [approve(route.amount)]
        except TransferRefused as refusal:
            # With some tokens, such as USDT on Ethereum, an allowance can't change from one amount to another: it
            # must become zero first.
            if allowance == 0 or refusal.refusal != Refusal.WOULD_FAIL:
                raise
    if not transactions:
        transactions = [approve(0), approve(route.amount, simulate=False)]
    return Approval(True, quote.spender, allowance, route.amount, tuple(transactions))


def missing_approvals(route: Route, quote: Quote, client: ChainClient) -> tuple[dict[str, Any], ...]:
    """Return the unsigned approvals that are still missing, in order. Raises TransferRefused and ChainError."""
    if not lacks_approval(route, quote, client):
        return ()
    return _approval(route, quote, client).transactions


def lacks_approval(route: Route, quote: Quote, client: ChainClient) -> bool:
    """Whether the allowance of the quote's spender is too small. Raises ChainError."""
    if not quote.spender or route.token.is_native:
        return False
    token, owner = route.token.contract_address, route.wallet_address
    return client.allowance(token, owner, quote.spender) < quote.amount_in


def _approve(
    route: Route, spender: str, amount: int, client: ChainClient, *, simulate: bool
) -> dict[str, Any]:
    """Return the unsigned `approve(spender, amount)` (ERC-20). Raises TransferRefused and ChainError."""
    call = EvmCall(
        to=route.token.contract_address,
        data=encode_approval(spender, amount),
        gas=None if simulate else _UNSIMULATED_GAS,
    )
    built = client.prepare(call, sender=route.wallet_address, spending=Spending("", 0), simulate=simulate)
    if not isinstance(built, dict):
        raise ChainError("an approval was built for another chain family", permanent=True)
    return built
