"""Let the sender of a mined transfer prove which request the transfer pays, if nothing else shows this."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from chains.client import ChainError
from chains.families import get_client
from config.api.errors import ApiError, ErrorCode
from merchants.identifiers import prefixed_id
from payments.evaluation.proving import NotProvable, Provable, provable
from payments.evaluation.sender_proofs import binds_in_time
from payments.models import Payment, PaymentRequest, TransferProof
from payments.proofs.messages import transfer_proof_message
from payments.proofs.storing import NODE_RETRY_SECONDS, check_again
from payments.requests.lifecycle import lock_request
from payments.requests.watching import tell_watchers
from payments.submission.sightings import Client
from payments.verification.evidence import collect_evidence
from payments.verification.quote_evidence import pinned_contracts, quotes_of
from payments.verification.reopening import reopen

LIFETIME = timedelta(minutes=10)
# Return the same message again for this long, so that a wallet doesn't get many messages to sign.
_REUSED_FOR = timedelta(minutes=3)
_MAX_MESSAGES = 5


def offer_message(payment: Payment, *, wallet_address: str, client: Client = get_client) -> TransferProof:
    """Return the message that `wallet_address` signs to prove its transfers in the payment's transaction.

    Raises ApiError: `transaction_not_bound` if a signature can't prove a transfer of this wallet,
    `transaction_already_used` if something else claims the transfer, and `node_unavailable`.
    """
    now = timezone.now()
    _evaluate(payment, wallet_address, now, client)
    with transaction.atomic():
        # Without the lock, a second call at the same time could replace the message that the wallet is signing.
        lock_request(payment.request_id)
        young = _messages(payment, wallet_address).filter(created_at__gt=now - _REUSED_FOR)
        return young.first() or _new_message(payment, wallet_address, now)


def _new_message(payment: Payment, wallet_address: str, now: datetime) -> TransferProof:
    text = transfer_proof_message(
        payment,
        wallet_address,
        settings.CHECKOUT_URL,
        nonce=prefixed_id(""),
        issued_at=now,
        expires_at=now + LIFETIME,
    )
    return TransferProof.objects.create(
        payment=payment,
        chain=payment.chain,
        transaction_hash=payment.own_hash,
        address=wallet_address,
        message=text,
        created_at=now,
        expires_at=now + LIFETIME,
    )


def store_transfer_proof(
    payment: Payment, *, wallet_address: str, signature: str, client: Client = get_client
) -> TransferProof:
    """Verify and store the signature of a message from `offer_message`. Repeating the call returns the stored proof.

    A proof in time binds the wallet's transfers to the request, and the payment is verified again without using a
    retry. A later proof only shows the merchant that the sender signed.

    Raises ApiError `signature_invalid`, and the errors of `offer_message`.
    """
    if (stored := _stored(payment, wallet_address)) is not None and stored.signature == signature:
        return stored
    now = timezone.now()
    messages = list(_messages(payment, wallet_address).filter(expires_at__gt=now)[:_MAX_MESSAGES])
    if not messages:
        text = "There is no current message for this wallet and payment. Request one and sign it within 10 minutes."
        raise ApiError(ErrorCode.SIGNATURE_INVALID, text, "signature")
    proving = _evaluate(payment, wallet_address, now, client)
    block = proving.block
    try:
        chain_client = client(payment.chain)
        signed = (
            each
            for each in messages
            if chain_client.is_signed_by(wallet_address, each.message, signature, also_at=block.number)
        )
        message = next(signed, None)
    except ChainError as error:
        raise _no_node(payment) from error
    if message is None:
        text = "The signature does not match this wallet and message. Sign the message again."
        raise ApiError(ErrorCode.SIGNATURE_INVALID, text, "signature")
    return _store(message, signature, proving)


def _store(message: TransferProof, signature: str, proving: Provable) -> TransferProof:
    with transaction.atomic():
        request = lock_request(message.payment.request_id)
        payment = Payment.objects.select_related("chain", "lookup").get(pk=message.payment_id)
        payment.request = request
        if (stored := _stored(payment, message.address)) is not None:
            return stored
        if payment.status == Payment.Status.COMPLETED:
            raise _used("This payment was credited meanwhile.")
        if payment.transaction_hash != message.transaction_hash:
            text = "The payment continues with another transaction. Request a new message and sign it."
            raise ApiError(ErrorCode.SIGNATURE_INVALID, text, "signature")
        now = timezone.now()
        needed = request.amount_remaining
        message.binds = (
            needed > 0
            and request.status == PaymentRequest.Status.ACTIVE
            and now < request.expires_at
            and binds_in_time(proving.block.time, now)
        )
        message.signature, message.needed, message.verified_at = signature, needed, now
        message.save(update_fields=["signature", "needed", "verified_at", "binds"])
        signed: dict[str, Any] = {}
        if proving.is_all:
            signed["sender_signed_at"] = payment.sender_signed_at or now
        # If the proof binds, the transaction is mined, so the payment keeps the request open until the
        # payment is verified.
        if message.binds and payment.status == Payment.Status.FAILED:
            reason = "the sender signed for this request"
            reopen(payment, actor="checkout", reason=reason, is_in_flight=True, **signed)
        elif message.binds:
            # Update the lookup first, since workers lock the lookup before the payment.
            check_again([payment.pk], now)
            signed |= {"is_in_flight": True, "likely_failure": ""}
        if signed:
            Payment.objects.filter(pk=payment.pk).update(**signed)
        tell_watchers(request.pk)
    return message


def _evaluate(payment: Payment, wallet_address: str, now: datetime, client: Client) -> Provable:
    """Return the transfers of the payment's transaction that the wallet can prove. Raises ApiError."""
    request, chain = payment.request, payment.chain
    if payment.status == Payment.Status.COMPLETED:
        raise _used("This payment is credited already.")
    if not payment.own_hash or payment.deposit_sequence is not None:
        message = (
            "Native coin at the deposit address belongs to this request already, so nothing has to be proved."
        )
        raise ApiError(ErrorCode.TRANSACTION_NOT_BOUND, message)
    if payment.is_simulated or chain.pk != request.chain_id:
        message = "Only a transfer on the requested network can be proved."
        raise ApiError(ErrorCode.TRANSACTION_NOT_BOUND, message)
    hash_ = payment.own_hash
    try:
        snapshot = client(chain).look_up([hash_], with_finality=False, mentioning=pinned_contracts(chain))
    except ChainError as error:
        raise _no_node(payment) from error
    if hash_ in snapshot.contradicted:
        raise _no_node(payment)
    quotes = quotes_of({request.pk}, chain)
    inputs = collect_evidence([payment.lookup], chain, snapshot, quotes, for_new_proof=True)
    # If the request is paid in full already, the proof claims nothing, but the merchant sees it.
    needed = request.amount_remaining or request.amount
    result = provable(inputs[payment.pk].terms, snapshot.transactions.get(hash_), wallet_address, needed, now)
    if isinstance(result, NotProvable):
        raise (
            _used(result.message)
            if result.is_used
            else ApiError(ErrorCode.TRANSACTION_NOT_BOUND, result.message)
        )
    return result


def _messages(payment: Payment, wallet_address: str) -> QuerySet[TransferProof]:
    """Return the messages for the payment's current transaction. A speed-up may have replaced an earlier
    transaction.
    """
    hash_ = payment.own_hash
    own = TransferProof.objects.filter(payment=payment, transaction_hash=hash_, address=wallet_address)
    return own.filter(verified_at__isnull=True).select_related("payment").order_by("-created_at", "-pk")


def _stored(payment: Payment, wallet_address: str) -> TransferProof | None:
    """Return the wallet's proof for the payment's current transaction, if there is one."""
    given = TransferProof.objects.filter(payment=payment, address=wallet_address, verified_at__isnull=False)
    return given.filter(transaction_hash=payment.transaction_hash).first()


def _used(message: str) -> ApiError:
    return ApiError(ErrorCode.TRANSACTION_ALREADY_USED, message)


def _no_node(payment: Payment) -> ApiError:
    message = f"{payment.chain.name} can't be reached to check this transfer. Try again in a few seconds."
    return ApiError(ErrorCode.NODE_UNAVAILABLE, message, retry_after=NODE_RETRY_SECONDS)
