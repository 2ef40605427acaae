"""Let the customer name a refund's address: they sign a text with the wallet that paid.

Who paid is asked of the chain. It is the account whose tokens moved, never a relayer, a bundler or a solver: those sign
transactions for anyone. The text names the refund, so that a signature works for no other, and a refund takes one
address only, so that it works once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from django.conf import settings

from chains.amounts import display_amount
from chains.client import ChainClient, ChainError
from chains.families import get_client
from chains.models import Chain
from config.api.errors import ApiError, ErrorCode
from payments.models import Payment, Refund
from payments.refunds.reading import RefundNow
from payments.refunds.services import set_address

LIFETIME = timedelta(minutes=15)
NODE_RETRY_SECONDS = 5
_ACTOR = "checkout"

Client = Callable[[Chain], ChainClient]


@dataclass(frozen=True)
class Payer:
    """A wallet that paid. `is_contract_heard`: it may confirm a signature as a contract does (EIP-1271)."""

    chain: Chain
    address: str
    is_contract_heard: bool


def claim_message(refund: Refund, address: str, expires_at: datetime) -> str:
    """Return the text that the wallet that paid signs, so that the refund goes to `address`."""
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
    client: Client = get_client,
) -> RefundNow:
    """Give the refund this address if a wallet that paid has signed for it.

    Raises ApiError: `signature_invalid` for another wallet's signature or an expired text, `refund_not_ready` if the
    refund needs no address, `node_unavailable` if the chain can't say who paid.
    """
    if now >= expires_at:
        raise ApiError(ErrorCode.SIGNATURE_INVALID, "This text has expired. Sign a new one.", "signature")
    message = claim_message(refund, address, expires_at)
    if not any(_has_signed(payer, message, signature, client) for payer in payers(refund, client=client)):
        text = "The signature is not of the wallet that paid, or not for this text."
        raise ApiError(ErrorCode.SIGNATURE_INVALID, text, "signature")
    return set_address(refund, address, actor=_ACTOR)


def signing_chain(refund: Refund) -> Chain:
    """Return the chain of the wallet that paid: a swap may have come from another one."""
    payment = refund.payment or _payments(refund)[0]
    return payment.chain


def payers(refund: Refund, *, client: Client = get_client) -> list[Payer]:
    """Return the wallet that may sign: the one that paid all of what is refunded.

    It is none if several did, or if it is unknown who made one of the payments. Anyone who sees the reference can add a
    coin to a request, even by the same relayer, and must not get to name the address of what another wallet paid.
    Raises ApiError `node_unavailable`.
    """
    found: list[Payer] = []
    for payment in _payments(refund):
        if payment.is_simulated:
            continue
        # With another binding, other wallets' transfers count beside a swap.
        if payment.type == Payment.Type.SWAP and payment.bound_by == Payment.BoundBy.PROVIDER:
            paid_by = _swapper(payment)
        else:
            paid_by = [Payer(payment.chain, sender, True) for sender in _senders(payment, client)]
        if not paid_by:
            return []
        found += paid_by
    return found[:1] if len({payer.address for payer in found}) == 1 else []


def _payments(refund: Refund) -> list[Payment]:
    paid = refund.request.payments.filter(status=Payment.Status.COMPLETED, reorged=False)
    if refund.payment_id is not None:
        paid = paid.filter(pk=refund.payment_id)
    return list(paid.select_related("chain", "route").order_by("created_at", "id"))


def _swapper(payment: Payment) -> list[Payer]:
    """Return the wallet for which the route was made, if it sent the transaction itself; only its own key counts.

    A transaction of several quotes has no route: its relayer can have added a quote for a wallet of their own.
    """
    wallet = payment.route.wallet_address if payment.route else ""
    return [Payer(payment.chain, wallet, False)] if wallet and wallet == payment.from_address else []


def _senders(payment: Payment, client: Client) -> list[str]:
    """Return whose balance fell by the transfers that the payment was credited with, as the chain says now.

    Empty if the chain doesn't say so of each of them.
    """
    try:
        snapshot = client(payment.chain).look_up([payment.transaction_hash], with_finality=False)
    except ChainError as error:
        raise _no_node(payment.chain) from error
    facts = snapshot.transactions.get(payment.transaction_hash)
    if facts is None or payment.transaction_hash in snapshot.contradicted:
        raise _no_node(payment.chain)
    credited = set(payment.consumed_transfers.values_list("slot", flat=True))
    senders = {transfer.slot: transfer.sender for transfer in facts.transfers if transfer.slot in credited}
    is_known = all(senders.get(slot) for slot in credited)
    return sorted(set(senders.values())) if is_known else []


def _has_signed(payer: Payer, message: str, signature: str, client: Client) -> bool:
    if not payer.is_contract_heard:
        return payer.chain.family.is_signed_by_key(payer.address, message, signature)
    try:
        return client(payer.chain).is_signed_by(payer.address, message, signature)
    except ChainError as error:
        raise _no_node(payer.chain) from error


def _no_node(chain: Chain) -> ApiError:
    message = f"{chain.name} can't be reached to see who paid. Try again in a few seconds."
    return ApiError(ErrorCode.NODE_UNAVAILABLE, message, retry_after=NODE_RETRY_SECONDS)
