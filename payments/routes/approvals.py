"""Leave for a route's router to take the customer's token: how much it has, and what has to be signed to give it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from chains.client import ChainClient, ChainError, EvmCall, Refusal, Spending, TransferRefused
from chains.families import get_client
from chains.families.evm.calls import encode_approval
from chains.models import Chain
from payments.models import Quote, Route
from payments.routes.refusals import expired, no_node, refused, require_available, require_payable

# A second approval can't be simulated before the first is mined; known tokens take a quarter of this.
_UNSIMULATED_GAS = 200_000

Client = Callable[[Chain], ChainClient]


@dataclass(frozen=True)
class Approval:
    """What a route's spender may take and has to be able to take, in base units of the route's token.

    `transactions` are unsigned and to be sent in order; none where `is_required` is false. `spender` is None where
    nobody needs leave: direct routes, native coin, Solana.
    """

    is_required: bool
    spender: str | None
    allowance: int
    needed: int
    transactions: tuple[dict[str, Any], ...] = ()


def check_approval(route: Route, *, client: Client = get_client) -> Approval:
    """Return what the route's wallet still has to approve: exactly the route's amount, a reset first where needed.

    Raises ApiError where the request is not payable, the route has expired, the wallet lacks gas or no node answers.
    """
    now = timezone.now()
    require_payable(route.request, now, allow_parallel=True)
    if now >= route.expires_at:
        raise expired()
    require_available(route)
    quote = route.quotes.first()
    if quote is None or not quote.spender or route.token.is_native:
        return Approval(False, None, 0, 0)
    try:
        return _approval(route, quote, client(route.chain))
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
            # As Tether's on Ethereum, some tokens change no allowance but to and from zero.
            if allowance == 0 or refusal.refusal != Refusal.WOULD_FAIL:
                raise
    if not transactions:
        transactions = [approve(0), approve(route.amount, simulate=False)]
    return Approval(True, quote.spender, allowance, route.amount, tuple(transactions))


def lacks_approval(route: Route, quote: Quote, client: ChainClient) -> bool:
    """Whether the quote's spender may not take what the quote needs yet. Raises ChainError."""
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
        raise ChainError("an approval came back in another chain's form", permanent=True)
    return built
