"""Accept a payer's signature for a sponsored route: verify it, reserve its cost, and store it before it is sent.

`payments.sponsoring.relaying` sends what is stored here.
"""

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from chains.client import ChainClient, ChainError, Refusal, Spending, TransferRefused
from chains.families import SignatureError, get_client
from chains.models import Chain
from config.api.errors import ApiError, ErrorCode
from payments.evaluation.authorized import SENDING
from payments.models import Authorization, GasAccount, Payment, PaymentRequest, Route
from payments.requests.lifecycle import lock_request
from payments.requests.new_payments import create_payment
from payments.routes.refusals import expired, no_node, refused, require_payable, require_switched_on
from payments.routes.sponsored import unavailable
from payments.sponsoring import budgets, terms
from payments.sponsoring.uses import attach, find_uses

logger = logging.getLogger(__name__)

Client = Callable[[Chain], ChainClient]
# How soon a stored authorization is checked on the chain.
FIRST_CHECK = timedelta(seconds=2)
_WRONG = "The signature is not of this route's typed data by its wallet. Build the route and sign again."


def accept_signature(
    request: PaymentRequest,
    route: Route,
    signature: str,
    *,
    submitter: str = "",
    client: Client = get_client,
    before_check: Callable[[], None] = lambda: None,
) -> tuple[Payment, bool]:
    """Store the payer's signature for this built route; return its payment, and whether it is new.

    The same signature again returns its payment. One that was used on the chain already is found there.
    `before_check` is called before nodes are queried, and may raise.

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
        token = authorization.token.contract_address
        balance = chain_client.balances(authorization.payer, [token]).get(token, 0)
    except ChainError as error:
        raise no_node(route.chain) from error
    return _store(authorization, signed, account, cost, balance, submitter)


def _found(client: ChainClient, authorization: Authorization) -> tuple[Payment, bool] | None:
    """Return the payment of an authorization that was used already; None if it was not."""
    reader = client.authorizations
    if reader is None:
        return None
    head = client.head()
    if not reader.states([authorization.terms.key], at_block=head).used[authorization.terms.key]:
        return None
    hash_, pays = find_uses(client, [authorization], until_block=head).get(authorization.pk, ("", False))
    if not pays:
        message = "This authorization was used or cancelled without a payment. Request routes again."
        raise expired(message)
    return attach(authorization, hash_, timezone.now(), actor="checkout")


def _require_possible(request: PaymentRequest, authorization: Authorization, now: datetime) -> None:
    """Raise ApiError unless the authorization pays all that remains, in time, and may be sponsored."""
    require_payable(request, now, allow_parallel=False)
    require_switched_on(request, request.token)
    if authorization.amount != request.amount_remaining:
        raise expired("This route is for another amount than what remains. Request routes again.")
    if terms.ends_at(authorization.valid_before) - now < terms.LEFT_TO_SEND:
        raise expired("This signature ends too soon to be sent. Request routes again.")
    if not terms.is_allowed(request) or budgets.is_barred(authorization.payer, now.astimezone(UTC).date()):
        raise unavailable()


def _simulated_cost(
    client: ChainClient, authorization: Authorization, signature: bytes, account: GasAccount, route: Route
) -> int:
    """Return the most that the relay can cost, in base units of the coin.

    Raises ApiError if it would fail, take too much gas, or the account lacks coin.
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
        balance = client.balances(authorization.payer, [call.to]).get(call.to, 0)
        if balance < authorization.amount:
            refusal = TransferRefused(Refusal.INSUFFICIENT_FUNDS, missing=authorization.amount - balance)
        raise refused(route, refusal) from refusal
    if not isinstance(unsigned, dict) or int(unsigned["gas"], 16) > terms.MAX_GAS:
        raise unavailable()
    return rules.max_cost(unsigned) + reader.data_fee(unsigned)


def _require_covered(authorization: Authorization, balance: int) -> None:
    """Raise ApiError unless the payer's balance covers this transfer beside those that were signed, but not mined.

    A signature costs nothing: with one balance for many, all but one of the relays would fail.
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
) -> tuple[Payment, bool]:
    now = timezone.now()
    with transaction.atomic():
        request = lock_request(authorization.request_id)
        rows = Authorization.objects.select_related("token", "chain")
        stored = rows.select_for_update(of=("self",), no_key=True).get(pk=authorization.pk)
        if stored.payment is not None:
            return stored.payment, False
        _require_possible(request, stored, now)
        live = Authorization.objects.filter(request=request, signed_at__isnull=False, ended_at__isnull=True)
        if live.exists():
            message = (
                "A signed payment for this request is being sent. Wait until it has completed or failed."
            )
            raise ApiError(ErrorCode.PAYMENT_IN_PROGRESS, message)
        budgets.lock(account)
        _require_covered(stored, balance)
        day = now.astimezone(UTC).date()
        if not budgets.may_reserve(request, cost, day):
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
            bound_by=Payment.BoundBy.AUTHORIZATION,
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
        )
        GasAccount.objects.filter(pk=account.pk).update(next_look_at=now)
    return payment, True
