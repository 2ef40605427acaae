"""Show the deposit address of a payment request, on the checkout page or through the API.

Once an address was shown, the service searches its chain for payments to it (`payments.discovery.deposits`). The
service shows an address only after nodes agree that money sent there reaches the recipient. When the feature is
switched off, payments to addresses that were already shown are still credited.
"""

from collections.abc import Callable
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from chains.client import ChainClient, ChainError
from chains.facts.deposits import Deposit, DepositProblem
from chains.families import get_client
from chains.models import Chain
from chains.switches import Feature, is_on, require_offered, require_on
from config.api.errors import ApiError, ErrorCode
from merchants.recipients import is_confirmed_contract
from payments.deposits.looks import first_look_at
from payments.models import DepositAddress, PaymentRequest
from payments.requests.lifecycle import lock_request
from payments.requests.transitions import note

NODE_RETRY_SECONDS = 5
# A sweep of these tokens may deliver a different amount than the address received.
UNSUITABLE_TAGS = frozenset({"rebasing", "fee_on_transfer"})

_PROBLEMS = {
    DepositProblem.FACTORY_MISSING: "Deposit addresses are not set up on {chain}. Pay with a wallet instead.",
    DepositProblem.RECIPIENT_IS_CONTRACT: (
        "The merchant's wallet is a contract on {chain}, and the merchant has not confirmed in the portal that it "
        "controls this address on every EVM chain. Pay with a wallet instead."
    ),
    DepositProblem.NOT_SWEPT: (
        "In a simulation, {token} sent to a deposit address did not reach the merchant in full. Pay with a wallet "
        "instead."
    ),
    DepositProblem.UNSUPPORTED: (
        "No node of {chain} can show that a deposit address works for {token}. Pay with a wallet instead."
    ),
}
# Native coin is credited by balance. A balance doesn't show whether a recipient contract lent the coin or returned
# it.
_COIN_FOR_CONTRACT = (
    "The merchant's wallet is a contract on {chain}, so it has no deposit addresses for {token}. Pay with a wallet "
    "instead."
)


def is_offered(request: PaymentRequest) -> bool:
    """Queries no node."""
    return _reason_against(request) is None and is_on(Feature.DEPOSIT_ADDRESSES) and request.is_available


def shown_address(request: PaymentRequest) -> str | None:
    """Return None if the address was never shown, or if it must not be shown now."""
    return request.deposit_address if request.deposit_address and is_offered(request) else None


def show_address(
    request: PaymentRequest,
    *,
    client: Callable[[Chain], ChainClient] = get_client,
    before_check: Callable[[], None] = lambda: None,
) -> Deposit:
    """Return the request's deposit address, and search the chain for payments to it from now on.

    An address that was shown before is returned without a check, even if the request has ended. `before_check` is
    called before the first query to a node. It may raise.

    Raises ApiError: `deposit_address_unavailable`, `payment_request_not_active`, `node_unavailable`, or
    `service_unavailable` if the operator switched the feature off.
    """
    reason = _reason_against(request)
    if reason is not None:
        raise _unavailable(reason)
    require_on(Feature.DEPOSIT_ADDRESSES)
    require_offered(request.token)
    if not request.is_available:
        raise _unavailable(f"{request.token.symbol} on {request.chain.name} is not accepted at the moment.")
    deposit = _deposit_of(request)
    if request.deposit_address is not None:
        return _shown_before(request, deposit)
    _require_active(request, timezone.now())
    before_check()
    is_confirmed = _is_confirmed(request)
    try:
        problem = client(request.chain).deposit_problem(
            deposit,
            recipient=request.recipient_address,
            token=request.token.contract_address,
            amount=request.amount,
            is_confirmed=is_confirmed,
        )
    except ChainError as error:
        message = f"{request.chain.name} can't be reached at the moment. Try again in a few seconds."
        raise ApiError(ErrorCode.NODE_UNAVAILABLE, message, retry_after=NODE_RETRY_SECONDS) from error
    if problem is not None:
        is_coin_for_contract = (
            problem is DepositProblem.RECIPIENT_IS_CONTRACT and request.token.contract_address == ""
        )
        text = _COIN_FOR_CONTRACT if is_coin_for_contract else _PROBLEMS[problem]
        text = text.format(chain=request.chain.name, token=request.token.symbol)
        raise _unavailable(text)
    return _store(request, deposit, is_confirmed=is_confirmed)


def _is_confirmed(request: PaymentRequest) -> bool:
    """Whether the merchant confirmed that it controls the recipient on every chain. Needed for contracts only."""
    return is_confirmed_contract(request.merchant, request.chain.chain_type, request.recipient_address)


def _reason_against(request: PaymentRequest) -> str | None:
    """Return why the request can't have a deposit address, or None."""
    token, chain = request.token, request.chain
    if request.is_refund:
        return "Refunds have no deposit addresses."
    if not chain.is_installed or chain.family.deposits is None:
        return f"{chain.name} has no deposit addresses."
    if not request.merchant.deposit_addresses:
        return "The merchant has not switched on deposit addresses."
    if not request.references:
        return "Payment references are switched off for this request, so it has no deposit address."
    if unsuitable := UNSUITABLE_TAGS.intersection(token.tags):
        return f"{token.symbol} is tagged {min(unsuitable)}, so it can't be sent to a deposit address."
    return None


def _require_active(request: PaymentRequest, now: datetime) -> None:
    if request.status != PaymentRequest.Status.ACTIVE or request.is_past_expiry(now):
        state = request.status if request.status != PaymentRequest.Status.ACTIVE else "past its deadline"
        message = f"This payment request is {state}. Don't pay it."
    elif request.is_paid_in_full:
        message = "This payment request is already paid in full. Don't pay it again."
    else:
        return
    raise ApiError(ErrorCode.PAYMENT_REQUEST_NOT_ACTIVE, message)


def _deposit_of(request: PaymentRequest) -> Deposit:
    contracts = request.chain.family.deposits
    if contracts is None:
        raise RuntimeError(f"chains like {request.chain.name} have no deposit addresses")
    return contracts.deposit_of(request.recipient_address, request.pk)


def _shown_before(request: PaymentRequest, deposit: Deposit) -> Deposit:
    """Raises ApiError if the address was shown by an earlier release, whose contracts gave another address."""
    if deposit.address != request.deposit_address:
        raise _unavailable("This deposit address was shown by a release with other contracts.")
    return deposit


def _store(request: PaymentRequest, deposit: Deposit, *, is_confirmed: bool) -> Deposit:
    with transaction.atomic():
        locked = lock_request(request.pk)
        if locked.deposit_address is not None:
            return _shown_before(locked, deposit)
        now = timezone.now()
        _require_active(locked, now)
        if is_confirmed and not _is_confirmed(locked):
            raise _unavailable("The merchant has just withdrawn its confirmation of the recipient.")
        if PaymentRequest.objects.filter(recipient_address=deposit.address).exists():
            raise _unavailable("Another payment request names this deposit address as its recipient.")
        DepositAddress.objects.create(
            request=locked,
            chain=locked.chain,
            address=deposit.address,
            recipient_address=locked.recipient_address,
            factory=deposit.factory,
            init_code_hash=deposit.init_code_hash,
            shown_at=now,
            next_look_at=first_look_at(locked),
        )
        PaymentRequest.objects.filter(pk=locked.pk).update(deposit_address=deposit.address)
        note(locked, f"deposit address {deposit.address} shown", actor="checkout")
    request.deposit_address = deposit.address
    return deposit


def _unavailable(message: str) -> ApiError:
    return ApiError(ErrorCode.DEPOSIT_ADDRESS_UNAVAILABLE, message)
