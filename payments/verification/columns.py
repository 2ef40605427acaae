"""Map the result of a check to payment columns. Pure: nothing is written here."""

from datetime import datetime
from typing import Any

from chains.client import TransactionFacts
from payments.evaluation.binding import Bound
from payments.evaluation.verdicts import Finality, NotYet, Paid
from payments.models import Payment, PaymentRequest, Quote

# The column's maximum. Anyone can sign a transaction with a higher nonce, but no account's nonce ever gets there.
_LARGEST_NONCE = 2**63 - 1
# Clears a swap's delivery, so that the provider is asked for it again.
NO_DELIVERY: dict[str, Any] = {
    "destination_transaction_hash": "",
    "destination_block_number": None,
    "destination_block_hash": "",
    "destination_block_time": None,
    "destination_confirmations": None,
    "reported_amount": None,
}


def sighting_columns(payment: Payment, facts: TransactionFacts | None, now: datetime) -> dict[str, Any]:
    """Return the columns of the payment's own transaction once a node has seen it.

    The first block is kept when a reorganisation moves the transaction to another one.
    """
    if facts is None:
        return {}
    is_storable = facts.nonce is not None and facts.nonce <= _LARGEST_NONCE
    columns: dict[str, Any] = {
        "seen_at": payment.seen_at or now,
        "from_address": facts.sender or payment.from_address,
        "nonce": facts.nonce if is_storable else payment.nonce,
        "effect": facts.effect or payment.effect,
        "network_fee": facts.network_fee if facts.block else None,
    }
    if facts.block is not None and payment.first_block_time is None:
        columns |= {
            "first_block_time": facts.block.time,
            "first_block_number": facts.block.number,
        }
    return columns


def waiting_columns(
    payment: Payment, verdict: NotYet, facts: TransactionFacts | None, now: datetime, quote: Quote | None
) -> dict[str, Any]:
    """Return the columns of a verdict that is not final: the amount in flight, or the likely failure."""
    likely = verdict.likely
    is_mined = verdict.block is not None
    common = {"likely_failure": likely.code if likely else ""}
    if payment.has_delivery:
        return {**common, "is_in_flight": likely is None}
    is_bound = verdict.bound is not None and likely is None
    columns = {
        **common,
        **sighting_columns(payment, facts, now),
        "is_in_flight": is_mined and is_bound,
        "is_bound_unmined": not is_mined and is_bound,
        "amount": (likely.arrived if likely else verdict.bound.amount if verdict.bound else None) or None,
    }
    if verdict.bound is not None and is_bound:
        columns["bound_by"] = verdict.bound.by
        if not is_mined and payment.held_from is None:
            columns["held_from"] = now
        if verdict.bound.by == Payment.BoundBy.PROVIDER and quote is not None:
            columns |= swap_columns(quote)
    return columns


# For a transaction that the nodes no longer know: it no longer holds its request open.
UNKNOWN: dict[str, Any] = {
    "block_number": None,
    "block_hash": "",
    "block_time": None,
    "confirmations": 0,
    "is_in_flight": False,
    "is_bound_unmined": False,
    "likely_failure": "",
}


def block_columns(payment: Payment, verdict: Paid | NotYet, finality: Finality) -> dict[str, Any]:
    """Return the block columns: the delivery's, or those of the payment's own transaction."""
    block = verdict.block
    number, hash_, time = (block.number, block.hash, block.time) if block else (None, "", None)
    if payment.has_delivery:
        return {
            "destination_block_number": number,
            "destination_block_hash": hash_,
            "destination_block_time": time,
            "destination_confirmations": verdict.confirmations,
        }
    return {
        "block_number": number,
        "block_hash": hash_,
        "block_time": time,
        "confirmations": verdict.confirmations,
        "confirmations_required": finality.confirmations,
    }


def refusal_columns(
    payment: Payment,
    facts: TransactionFacts | None,
    arrived: int | None,
    now: datetime,
) -> dict[str, Any]:
    """Return the columns of a refused transaction; `arrived` base units reached the recipient."""
    columns: dict[str, Any] = {}
    if facts is not None and facts.block is not None:
        columns |= {
            **sighting_columns(payment, facts, now),
            "block_number": facts.block.number,
            "block_hash": facts.block.hash,
            "block_time": facts.block.time,
        }
    if arrived:
        columns |= {"amount": arrived, "token_id": payment.request.token_id}
    return columns


def paid_columns(
    payment: Payment, request: PaymentRequest, bound: Bound, received: int, quote: Quote | None
) -> dict[str, Any]:
    """Return the amount paid, its token and what bound it: from the quote for a swap, else from what arrived.

    Without a `quote`, one transaction made the swaps of several quotes, each perhaps of another wallet.
    """
    if payment.has_delivery:
        return {"bound_by": bound.by}
    if bound.by == Payment.BoundBy.PROVIDER:
        several = {"type": Payment.Type.SWAP, "quote": None, "route": None, "bound_by": bound.by}
        return swap_columns(quote) if quote else {**several, "amount": received, "token": request.token}
    return {"amount": received, "token": request.token, "bound_by": bound.by}


def swap_columns(quote: Quote) -> dict[str, Any]:
    """Return the columns of a payment that executes this quote."""
    return {
        "type": Payment.Type.SWAP,
        "quote": quote,
        "route": quote.route,
        "provider": quote.provider,
        "token": quote.route.token,
        "amount": quote.amount_in,
        "bound_by": Payment.BoundBy.PROVIDER,
    }
