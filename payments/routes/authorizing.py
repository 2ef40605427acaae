"""Accept a payer's signature for a sponsored route.

The signature is verified and stored, and the cost of the transfer is reserved. `payments.sponsoring.relaying` sends
the transfer later.
"""

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from chains.client import ChainClient, ChainError, Refusal, Spending, TransferRefused
from chains.facts.cosigning import CannotSponsor, PayerSigned, TooLate
from chains.families import SignatureError, get_client
from chains.models import Chain
from config.api.errors import ApiError, ErrorCode
from payments.evaluation.authorized import SENDING
from payments.models import Authorization, GasAccount, Payment, PaymentRequest, Route
from payments.requests.lifecycle import lock_request
from payments.requests.new_payments import create_payment
from payments.routes.refusals import (
    expired,
    no_node,
    refused,
    require_payable,
    require_switched_on,
    unavailable,
)
from payments.sponsoring import budgets, terms
from payments.sponsoring.uses import attach, find_uses

logger = logging.getLogger(__name__)

Client = Callable[[Chain], ChainClient]
# The time until a stored authorization is first checked on the chain.
FIRST_CHECK = timedelta(seconds=2)
_WRONG = "The signature is not of this route's typed data by its wallet. Build the route and sign again."


def accept(
    request: PaymentRequest,
    route: Route,
    *,
    signature: str | None,
    text: str | None,
    submitter: str = "",
    before_check: Callable[[], None] = lambda: None,
) -> tuple[Payment, bool]:
    """Store what the payer signed for this built route: a `signature`, or a whole transaction (`text`).

    Raises the ApiErrors of `accept_signature`. A chain accepts only one of the two. Raises `parameter_invalid` for
    the other.
    """
    is_cosigned = terms.cosigning_of(route.chain) is not None
    if text is not None and not is_cosigned:
        message = "On this chain, the wallet signs typed data. Send its signature."
        raise ApiError(ErrorCode.PARAMETER_INVALID, message, "transaction")
    if signature is not None and is_cosigned:
        message = "On this chain, the wallet signs the transaction. Send the signed transaction."
        raise ApiError(ErrorCode.PARAMETER_INVALID, message, "signature")
    store = accept_transaction if is_cosigned else accept_signature
    return store(request, route, signature or text or "", submitter=submitter, before_check=before_check)


def accept_signature(
    request: PaymentRequest,
    route: Route,
    signature: str,
    *,
    submitter: str = "",
    client: Client = get_client,
    before_check: Callable[[], None] = lambda: None,
) -> tuple[Payment, bool]:
    """Store the payer's signature for this built route. Return its payment, and whether the payment is new.

    The same signature returns the same payment again. If the signature was already used on the chain, the
    transaction is found there. `before_check` is called before the first query to a node. It may raise.

    Raises ApiError: `signature_invalid`, `route_expired`, `payment_request_not_active`, `payment_in_progress`,
    `sponsoring_unavailable`, `insufficient_funds`, `transaction_would_fail` or `node_unavailable`.
    """
    authorization = (
        Authorization.objects.select_related("token", "chain", "payment__request").filter(route=route).first()
    )
    rules = terms.rules_of(route.chain)
    if authorization is None or rules is None:
        raise expired("This route was not built for a signature. Request routes again.")
    try:
        signed = rules.read_signature(route.chain.family.normalise_signature(signature))
    except SignatureError as error:
        raise ApiError(ErrorCode.SIGNATURE_INVALID, str(error), "signature") from error
    if not rules.is_signed(authorization.terms, signed):
        raise ApiError(ErrorCode.SIGNATURE_INVALID, _WRONG, "signature")
    if authorization.payment is not None:
        return authorization.payment, False
    before_check()
    try:
        chain_client = client(route.chain)
        if (found := _found(chain_client, authorization)) is not None:
            return found
        _require_possible(request, authorization, timezone.now())
        account = budgets.gas_account(route.chain)
        if account is None:
            raise unavailable()
        cost = _simulated_cost(chain_client, authorization, signed, account, route)
        balance = _balance(chain_client, authorization)
    except ChainError as error:
        raise no_node(route.chain) from error
    return _store(authorization, signed, account, cost, balance, submitter)


def accept_transaction(
    request: PaymentRequest,
    route: Route,
    text: str,
    *,
    submitter: str = "",
    client: Client = get_client,
    before_check: Callable[[], None] = lambda: None,
) -> tuple[Payment, bool]:
    """Store the transaction that the payer signed for this built route. Return its payment, and whether the payment
    is new.

    Like `accept_signature`, but for chains where the operator's account signs the payer's transaction last.
    """
    authorization = (
        Authorization.objects.select_related("token", "chain", "payment__request").filter(route=route).first()
    )
    rules = terms.cosigning_of(route.chain)
    if authorization is None or authorization.transaction is None or rules is None:
        raise expired("This route was not built for a signature. Request routes again.")
    built = bytes(authorization.transaction)
    try:
        signed = rules.read_signed(built, text, authorization.payer, rules.fee_payer_of(built))
    except SignatureError as error:
        message = f"{error} Build the route and sign again."
        raise ApiError(ErrorCode.SIGNATURE_INVALID, message, "transaction") from error
    if authorization.payment is not None:
        _require_same(authorization, signed)
        return authorization.payment, False
    before_check()
    _require_possible(request, authorization, timezone.now())
    account = budgets.gas_account(route.chain)
    if account is None or rules.fee_payer_of(built) != account.address:
        raise unavailable()
    try:
        chain_client = client(route.chain)
        _rehearse(chain_client, authorization, signed, route)
        balance = _balance(chain_client, authorization)
    except ChainError as error:
        raise no_node(route.chain) from error
    cost = signed.fee + (authorization.deposit or 0)
    return _store(authorization, signed.signature, account, cost, balance, submitter, signed=signed)


def _rehearse(client: ChainClient, authorization: Authorization, signed: PayerSigned, route: Route) -> None:
    """Raise ApiError if the transaction would fail, or if too little time is left to send it."""
    if client.cosigning is None or authorization.last_valid_height is None:
        raise unavailable()
    try:
        client.cosigning.rehearse(signed, last_valid_height=authorization.last_valid_height)
    except TooLate as error:
        raise expired("This transaction can't be sent any more. Build the route and sign again.") from error
    except CannotSponsor as error:
        logger.error("a signed transaction on %s is not sent: %s", route.chain.name, error)
        raise unavailable() from error
    except TransferRefused as refusal:
        raise _refusal(client, authorization, route, refusal) from refusal


def _refusal(
    client: ChainClient, authorization: Authorization, route: Route, refusal: TransferRefused
) -> ApiError:
    """Return the error for a transfer that would fail. If the payer lacks money, the error says how much."""
    missing = authorization.amount - _balance(client, authorization)
    if missing > 0:
        refusal = TransferRefused(Refusal.INSUFFICIENT_FUNDS, missing=missing)
    return refused(route, refusal)


def _balance(client: ChainClient, authorization: Authorization) -> int:
    token = authorization.token.contract_address
    return client.balances(authorization.payer, [token]).get(token, 0)


def _found(client: ChainClient, authorization: Authorization) -> tuple[Payment, bool] | None:
    """If the authorization was used on the chain already, return its payment. Otherwise return None.

    Raises ApiError if the use pays nothing, or if the nodes don't return its transaction yet. Raises ChainError.
    """
    reader = client.authorizations
    if reader is None:
        return None
    head = client.look_up([], with_finality=False).head.latest
    if not reader.states([authorization.terms.key], at_block=head).used[authorization.terms.key]:
        return None
    use = find_uses(client, [authorization], until_block=head).get(authorization.pk)
    if use is None:
        # The transaction may have paid, so the customer must not pay again.
        raise no_node(authorization.chain, "This signature was used: don't pay again.")
    hash_, pays = use
    if not pays:
        message = "This authorization was used or cancelled without a payment. Request routes again."
        raise expired(message)
    return attach(authorization, hash_, timezone.now(), actor="checkout")


def _require_possible(request: PaymentRequest, authorization: Authorization, now: datetime) -> None:
    """Raise ApiError if the authorization doesn't pay the whole unpaid rest, is too late, or may not be sponsored."""
    require_payable(request, now, allow_parallel=False)
    require_switched_on(request, request.token)
    if authorization.amount != request.amount_remaining:
        raise expired("This route is for another amount than what remains. Request routes again.")
    if (authorization.ends_at or request.expires_at) - now < terms.LEFT_TO_SEND:
        raise expired("This signature ends too soon to be sent. Request routes again.")
    if not terms.is_allowed(request) or budgets.is_barred(authorization.payer, now.astimezone(UTC).date()):
        raise unavailable()


def _simulated_cost(
    client: ChainClient, authorization: Authorization, signature: bytes, account: GasAccount, route: Route
) -> int:
    """Return the maximum cost of the transaction, in base units of the coin.

    Raises ApiError if the transaction would fail or use too much gas, or if the gas account lacks coin.
    """
    rules, reader = terms.rules_of(authorization.chain), client.authorizations
    if rules is None or reader is None:
        raise unavailable()
    call = rules.transfer_call(authorization.terms, signature)
    try:
        unsigned = client.prepare(call, sender=account.address, spending=Spending("", 0))
    except TransferRefused as refusal:
        if refusal.refusal == Refusal.INSUFFICIENT_GAS:
            logger.error("the gas account %s lacks coin", account)
            raise unavailable() from refusal
        raise _refusal(client, authorization, route, refusal) from refusal
    if not isinstance(unsigned, dict) or int(unsigned["gas"], 16) > terms.MAX_GAS:
        raise unavailable()
    return rules.max_cost(unsigned) + reader.data_fee(unsigned)


def _require_covered(authorization: Authorization, balance: int) -> None:
    """Raise ApiError if the payer's balance doesn't cover this transfer and all others that are signed but not
    mined.

    A signature costs nothing. Without this check, a payer with money for one transfer could sign many. All but one
    would fail at our cost.
    """
    signed = Authorization.objects.filter(
        token=authorization.token, payer=authorization.payer, signed_at__isnull=False, ended_at__isnull=True
    )
    promised = signed.filter(payment__lookup__block_number__isnull=True).aggregate(total=Sum("amount"))
    missing = int(promised["total"] or 0) + authorization.amount - balance
    if missing > 0 and authorization.route is not None:
        raise refused(authorization.route, TransferRefused(Refusal.INSUFFICIENT_FUNDS, missing=missing))


def _store(
    authorization: Authorization,
    signature: bytes,
    account: GasAccount,
    cost: int,
    balance: int,
    submitter: str,
    *,
    signed: PayerSigned | None = None,
) -> tuple[Payment, bool]:
    """Store the payment with what the payer signed, and reserve the cost. The payer's transfer is due to be
    sent now.
    """
    now = timezone.now()
    with transaction.atomic():
        request = lock_request(authorization.request_id)
        rows = Authorization.objects.select_related("token", "chain")
        stored = rows.select_for_update(of=("self",), no_key=True).get(pk=authorization.pk)
        if stored.payment is not None:
            _require_same(stored, signed)
            return stored.payment, False
        if stored.transaction != authorization.transaction:
            raise expired("The route was built again meanwhile. Sign the newest transaction.")
        _require_possible(request, stored, now)
        live = Authorization.objects.filter(request=request, signed_at__isnull=False, ended_at__isnull=True)
        if live.exists():
            raise _in_progress()
        budgets.lock(account)
        _require_covered(stored, balance)
        day = now.astimezone(UTC).date()
        may_open = not stored.deposit or budgets.may_open_account(request)
        if not may_open or not budgets.may_reserve(request, cost, day):
            raise unavailable()
        payment = create_payment(
            request,
            stored.chain,
            None,
            actor="checkout",
            looked_up={"transaction_hash": "", "next_check_at": None},
            submitter=submitter,
            route=stored.route,
            is_sponsored=True,
            from_address=stored.payer,
            token=stored.token,
            amount=stored.amount,
            bound_by=Payment.BoundBy.REFERENCE if signed else Payment.BoundBy.AUTHORIZATION,
            is_bound_unmined=True,
            held_from=now,
            status_detail=SENDING,
        )
        Authorization.objects.filter(pk=stored.pk).update(
            payment=payment,
            signature=signature,
            signed_at=now,
            day=day,
            cost=cost,
            next_check_at=now + FIRST_CHECK,
            **({"transaction": signed.transaction} if signed else {}),
        )
        GasAccount.objects.filter(pk=account.pk).update(next_look_at=now)
    return payment, True


def _require_same(stored: Authorization, signed: PayerSigned | None) -> None:
    """Raise ApiError if a different transaction is stored for the payment."""
    if signed is not None and bytes(stored.transaction or b"") != signed.transaction:
        raise _in_progress() if stored.is_live else expired()


def _in_progress() -> ApiError:
    message = "A signed payment for this request is being sent. Wait until it has completed or failed."
    return ApiError(ErrorCode.PAYMENT_IN_PROGRESS, message)
