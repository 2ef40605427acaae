"""Map the result of a check to columns of a payment, its lookup and its swap. Pure functions."""

from datetime import datetime
from typing import Any

from chains.client import Block, TransactionFacts
from payments.evaluation.binding import Bound
from payments.evaluation.verdicts import Finality, NotYet, Paid
from payments.models import Lookup, Payment, PaymentRequest, Quote

# The largest number that the column holds. A transaction with a higher nonce can be signed, but never mined.
_LARGEST_NONCE = 2**63 - 1


def sender_columns(
    payment: Payment, facts: TransactionFacts | None, bound: Bound | None = None
) -> dict[str, Any]:
    """Return the payment's columns about its own transaction, once a node has seen it.

    `bound` is how the verdict binds the transaction, if it does. A payment that was found by the balance of a deposit
    address has no known sender, so it gets no columns.
    """
    if facts is None or not facts.sender:
        return {}
    network_fee = facts.network_fee if facts.block else None
    payer = facts.sender
    if bound is not None and bound.by == Payment.BoundBy.AUTHORIZATION:
        payer = bound.transfers[0].sender
    if facts.block is not None and payer != facts.sender:
        # Any account can send a signed transfer. The nonce is not the payer's, and `payments.sponsoring` follows the
        # authorization to its next transaction.
        return {"from_address": payer, "nonce": None, "effect": "", "network_fee": network_fee}
    if payment.is_sponsored or payment.bound_by == Payment.BoundBy.AUTHORIZATION:
        # The operator's account sends the transaction, but the payer stays the sender.
        return {"network_fee": network_fee}
    is_storable = facts.nonce is not None and facts.nonce <= _LARGEST_NONCE
    return {
        "from_address": facts.sender or payment.from_address,
        "nonce": facts.nonce if is_storable else payment.nonce,
        "effect": facts.effect or payment.effect,
        "network_fee": network_fee,
    }


def sighting_columns(lookup: Lookup, facts: TransactionFacts | None, now: datetime) -> dict[str, Any]:
    """Return new values for the `Lookup` row of a transaction that a node has seen.

    If a reorganisation moves the transaction to another block, the first block stays stored.
    """
    if facts is None:
        return {}
    columns: dict[str, Any] = {"seen_at": lookup.seen_at or now}
    if facts.block is not None and lookup.first_block_time is None:
        columns |= {
            "first_block_time": facts.block.time,
            "first_block_number": facts.block.number,
        }
    if lookup.is_difference and facts.transfers:
        columns["received"] = facts.transfers[0].gain
    return columns


def block_columns(block: Block | None) -> dict[str, Any]:
    if block is None:
        return {"block_number": None, "block_hash": "", "block_time": None}
    return {"block_number": block.number, "block_hash": block.hash, "block_time": block.time}


def depth_columns(verdict: Paid | NotYet, finality: Finality) -> dict[str, Any]:
    return {
        **block_columns(verdict.block),
        "confirmations": verdict.confirmations,
        "confirmations_required": finality.confirmations,
    }


def waiting_columns(
    lookup: Lookup, verdict: NotYet, facts: TransactionFacts | None, now: datetime, quote: Quote | None
) -> dict[str, Any]:
    """Return new values for the columns of a payment whose verdict is not final: the amount in flight, or the likely
    failure.
    """
    payment, likely = lookup.payment, verdict.likely
    is_mined = verdict.block is not None
    common = {"likely_failure": likely.code if likely else ""}
    if lookup.is_delivery:
        return {**common, "is_in_flight": likely is None}
    is_bound = verdict.bound is not None and likely is None
    columns = {
        **common,
        **sender_columns(payment, facts, verdict.bound),
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


# Values for a `Lookup` row whose transaction the nodes no longer know.
UNKNOWN: dict[str, Any] = {**block_columns(None), "confirmations": 0}
# Values for a `Lookup` row whose hash turned out not to be a proposal's id.
NO_PROPOSAL: dict[str, Any] = {"proposal_id": "", "proposal_account": "", "further_accounts": None}
# The columns of a payment that no longer keeps its request open.
NOT_HOLDING: dict[str, Any] = {"is_in_flight": False, "is_bound_unmined": False, "likely_failure": ""}


def paid_columns(
    lookup: Lookup, request: PaymentRequest, bound: Bound, received: int, quote: Quote | None
) -> dict[str, Any]:
    """Return the columns for the paid amount, its token and its binding.

    The columns come from the swap's quote, or from the transfers that arrived. If a swap has no `quote`, its
    transaction started the swaps of several quotes, perhaps for different wallets.
    """
    if lookup.is_delivery:
        return {"bound_by": bound.by}
    if bound.by == Payment.BoundBy.PROVIDER:
        several = {"type": Payment.Type.SWAP, "quote": None, "route": None, "bound_by": bound.by}
        return swap_columns(quote) if quote else {**several, "amount": received, "token": request.token}
    return {"amount": received, "token": request.token, "bound_by": bound.by}


def provider_columns(lookup: Lookup, verdict: Paid | NotYet, quote: Quote | None) -> dict[str, Any]:
    """If the payment's transaction started the swap of this quote, return the column with the swap's provider."""
    is_swap = verdict.bound is not None and verdict.bound.by == Payment.BoundBy.PROVIDER
    is_refused = isinstance(verdict, NotYet) and verdict.likely is not None
    is_named = not lookup.is_delivery and is_swap and not is_refused
    return {"provider": quote.provider} if is_named and quote is not None else {}


def swap_columns(quote: Quote) -> dict[str, Any]:
    return {
        "type": Payment.Type.SWAP,
        "quote": quote,
        "route": quote.route,
        "token": quote.route.token,
        "amount": quote.amount_in,
        "bound_by": Payment.BoundBy.PROVIDER,
    }
