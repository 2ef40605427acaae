"""Let the customer set a refund's address with a signature of the wallet that paid.

The chain shows who paid: the account whose tokens moved. That account is never a relayer, a bundler or a solver,
since these sign transactions for anyone. The signed text contains the refund's id, so the signature is useless for
other refunds. A refund accepts one address only, so the signature works once.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from urllib.parse import urlsplit

from django.conf import settings

from chains.amounts import display_amount
from chains.client import ChainError
from chains.families import get_client
from chains.models import Chain
from config.api.errors import ApiError, ErrorCode
from payments.models import Payment, Refund
from payments.refunds.reading import RefundNow
from payments.refunds.services import set_address

LIFETIME = timedelta(minutes=15)
NODE_RETRY_SECONDS = 5
_ACTOR = "checkout"


class DeadEnd(StrEnum):
    """Why no wallet can sign for a refund's address. The merchant must then set the address."""

    REORGED = "reorged"
    "Every payment was reversed by a chain reorganisation."
    SIMULATED = "simulated"
    """Every payment was simulated."""
    UNKNOWN = "unknown"
    """It isn't certain which wallet made a payment, such as a relayed swap, or one that an exchange sent."""
    SEVERAL = "several"
    """Several wallets paid."""


class NoSigner(Exception):
    def __init__(self, reason: DeadEnd) -> None:
        super().__init__(reason.value)
        self.reason = reason


@dataclass(frozen=True)
class Payer:
    """The wallet that paid.

    With `is_contract_heard`, the wallet may be a contract that confirms the signature (EIP-1271).
    """

    chain: Chain
    address: str
    is_contract_heard: bool


def claim_message(refund: Refund, address: str, expires_at: datetime) -> str:
    """Return the text that the wallet that paid must sign to receive the refund at `address`."""
    request = refund.request
    amount = f"{display_amount(refund.amount, request.token.decimals)} {request.token.symbol}"
    merchant = request.merchant.display_name or request.merchant.name
    return "\n".join(
        (
            f"{urlsplit(settings.CHECKOUT_URL).netloc} asks you where a refund should go.",
            "",
            f"{merchant} refunds {amount} on {request.chain.name}. Send it to this address:",
            address,
            "",
            "I paid with the wallet that signs this text.",
            "",
            f"Refund: {refund.id}",
            f"Page: {refund.claim_url}",
            f"Token: {request.token.contract_address or request.token.symbol}",
            f"Chain ID: {request.chain_id}",
            f"Expires: {expires_at.astimezone(UTC).isoformat(timespec='seconds').replace('+00:00', 'Z')}",
        )
    )


def claim_address(
    refund: Refund,
    address: str,
    *,
    expires_at: datetime,
    signature: str,
    now: datetime,
) -> RefundNow:
    """Set the refund's address if a wallet that paid has signed for it. Raises NoSigner.

    Raises ApiError: `signature_invalid` for another wallet's signature or an expired text. `refund_not_ready` if
    the refund needs no address. `node_unavailable` if no node can show who paid.
    """
    if now >= expires_at:
        raise ApiError(ErrorCode.SIGNATURE_INVALID, "This text has expired. Sign a new one.", "signature")
    message = claim_message(refund, address, expires_at)
    if not _has_signed(payer_of(refund), message, signature):
        text = "The signature is not of the wallet that paid, or not for this text."
        raise ApiError(ErrorCode.SIGNATURE_INVALID, text, "signature")
    return set_address(refund, address, actor=_ACTOR)


def signing_chain(refund: Refund) -> Chain:
    """Return the chain on which the wallet paid: the source chain of a swap. Raises NoSigner."""
    return signable_payments(refund)[0].chain


def payer_of(refund: Refund) -> Payer:
    """Return the wallet that may sign: it made all of the refund's `signable_payments`. Raises ApiError
    `node_unavailable`.

    Raises NoSigner if several wallets paid, or if one payment's sender is unknown. A stranger who sees the reference
    can pay a small amount to the request, even through the customer's relayer. The stranger must not be able to set
    the address for the customer's payment.
    """
    payers: list[Payer] = []
    for payment in signable_payments(refund):
        if _is_by_provider(payment):
            paid_by = _swapper(payment)
        else:
            paid_by = [Payer(payment.chain, sender, True) for sender in _senders(payment)]
        if not paid_by:
            raise NoSigner(DeadEnd.UNKNOWN)
        payers += paid_by
    if len({payer.address for payer in payers}) != 1:
        raise NoSigner(DeadEnd.SEVERAL)
    return payers[0]


def signable_payments(refund: Refund) -> list[Payment]:
    """Return the payments that were credited before the refund was created, oldest first. The wallet that made
    one of these payments may sign.

    Later payments don't count, so they can't keep that wallet from signing. Raises NoSigner if the database already
    shows that no wallet can sign. Only the chain shows which wallet made a payment.
    """
    credited = refund.request.payments.filter(
        pk__in=refund.credited_payments, status=Payment.Status.COMPLETED, reorged=False
    )
    payments = list(credited.select_related("chain", "route").order_by("created_at", "id"))
    if not payments:
        raise NoSigner(DeadEnd.REORGED)
    real = [payment for payment in payments if not payment.is_simulated]
    if not real:
        raise NoSigner(DeadEnd.SIMULATED)
    for payment in real:
        is_by_address = payment.bound_by == Payment.BoundBy.ADDRESS
        if (
            is_by_address
            or not payment.chain.is_installed
            or (_is_by_provider(payment) and not _swapper(payment))
        ):
            raise NoSigner(DeadEnd.UNKNOWN)
    return real


def _is_by_provider(payment: Payment) -> bool:
    """Whether only a swap's delivery was credited. Other payments may include transfers of several wallets."""
    return payment.type == Payment.Type.SWAP and payment.bound_by == Payment.BoundBy.PROVIDER


def _swapper(payment: Payment) -> list[Payer]:
    """Return the route's wallet, if that wallet sent the transaction itself. The wallet must sign with its own key; a
    contract can't sign for it.

    A transaction of several quotes has no route: its relayer may have added a quote for the relayer's own wallet.
    """
    wallet = payment.route.wallet_address if payment.route else ""
    return [Payer(payment.chain, wallet, False)] if wallet and wallet == payment.from_address else []


def _senders(payment: Payment) -> list[str]:
    """Query the chain for the accounts from which the payment's credited transfers came.

    Return an empty list if the account of any transfer is unknown.
    """
    try:
        snapshot = get_client(payment.chain).look_up([payment.own_hash], with_finality=False)
    except ChainError as error:
        raise _no_node(payment.chain) from error
    facts = snapshot.transactions.get(payment.own_hash)
    if facts is None or payment.own_hash in snapshot.contradicted:
        raise _no_node(payment.chain)
    credited = set(payment.consumed_transfers.values_list("slot", flat=True))
    senders = {transfer.slot: transfer.sender for transfer in facts.transfers if transfer.slot in credited}
    is_known = all(senders.get(slot) for slot in credited)
    return sorted(set(senders.values())) if is_known else []


def _has_signed(payer: Payer, message: str, signature: str) -> bool:
    if not payer.is_contract_heard:
        return payer.chain.family.is_signed_by_key(payer.address, message, signature)
    try:
        return get_client(payer.chain).is_signed_by(payer.address, message, signature)
    except ChainError as error:
        raise _no_node(payer.chain) from error


def _no_node(chain: Chain) -> ApiError:
    message = f"{chain.name} can't be reached to see who paid. Try again in a few seconds."
    return ApiError(ErrorCode.NODE_UNAVAILABLE, message, retry_after=NODE_RETRY_SECONDS)
