"""Interpret a provider's status of a swap. Pure functions.

A status never completes a payment. A status only says which transaction to look up.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit

from chains.families import HashError, family_of
from chains.fields import UINT256_MAX
from payments.models.payment import FailureCode
from payments.providers.base import SwapState, SwapStatus

_LONGEST_URL = 500
_LONGEST_STATUS = 64

# (seconds between polls, number of such polls), in order, as in LI.FI's reference client.
_PAUSES = ((10, 6), (30, 6), (60, 12))
_LAST_PAUSE = 120
_LONGEST_RETRY_AFTER = 300


@dataclass(frozen=True)
class Journey:
    """A swap's source and target. `token` is a contract address, or "" for native coin."""

    provider: str
    from_chain: str
    to_chain: str
    chain_id: int
    chain_type: str
    symbol: str
    token: str
    recipient: str


@dataclass(frozen=True)
class UnderWay:
    """The swap is in progress. With `ask_source`, look up the customer's transaction too."""

    detail: str
    ask_source: bool = False


@dataclass(frozen=True)
class Delivered:
    """The provider reports that this transaction is the delivery. `amount` is in base units, if it is reported."""

    transaction_hash: str
    amount: int | None


@dataclass(frozen=True)
class Unproved:
    """The provider reports a delivery that our nodes can't confirm."""

    code: FailureCode
    message: str


@dataclass(frozen=True)
class Ended:
    """The provider reports that the requested delivery will not happen."""

    code: FailureCode
    message: str


Progress = UnderWay | Delivered | Unproved | Ended


def read_status(status: SwapStatus, journey: Journey) -> Progress:
    name = journey.provider
    match status.state:
        case SwapState.UNKNOWN:
            return UnderWay(f"Sent on {journey.from_chain}; {name} has not seen it yet.", ask_source=True)
        case SwapState.AWAITING_SOURCE:
            return UnderWay(
                f"Sent; {name} is waiting for {journey.from_chain} to confirm it.", ask_source=True
            )
        case SwapState.BRIDGING:
            return UnderWay(f"{name} is sending the {journey.symbol} to {journey.to_chain}.")
        case SwapState.REFUNDING:
            return UnderWay(f"{name} could not deliver and is refunding the payer.")
        case SwapState.DELIVERED:
            return _delivered(status, journey)
        case SwapState.DELIVERED_OTHER_TOKEN:
            return _other_token(status, journey)
        case SwapState.REFUNDED:
            return Ended(
                FailureCode.SWAP_REFUNDED,
                f"{name} couldn't deliver the payment and reports that it refunded the paying wallet on "
                f"{journey.from_chain}. You can pay again.",
            )
        case SwapState.NEEDS_CLAIM:
            return Ended(
                FailureCode.SWAP_FAILED,
                f"{name} could not deliver and holds the money until the customer claims it back there. After that, "
                "you can pay again.",
            )
        case SwapState.FAILED:
            return Ended(
                FailureCode.SWAP_FAILED,
                f"{name} reports that the swap failed. Check with {name} whether the money was refunded before you pay "
                "again.",
            )


def _other_token(status: SwapStatus, journey: Journey) -> Ended:
    hash_ = _canonical(status, journey)
    where = f" by transaction {hash_} on {journey.to_chain}" if hash_ else ""
    return Ended(
        FailureCode.SWAP_PARTIAL,
        f"{journey.provider} could not complete the last exchange and reports that it delivered another token than "
        f"{journey.symbol} to the merchant's wallet{where}. Nothing was credited. Contact the merchant, who can see "
        "it there.",
    )


def _canonical(status: SwapStatus, journey: Journey) -> str:
    """Return the canonical hash of the reported delivery, or "" if it is invalid."""
    try:
        return family_of(journey.chain_type).normalise_transaction_hash(status.destination_hash or "")
    except HashError:
        return ""


def _delivered(status: SwapStatus, journey: Journey) -> Progress:
    """Check that a reported delivery is for the right chain, recipient and token. If it isn't, don't look it up.

    One transaction may deliver several swaps. The transaction may deliver an attacker's swap to the attacker, and
    also pay the merchant for another customer. The attacker must not be credited with that payment.
    """
    name = journey.provider
    if status.destination_chain_id not in (None, journey.chain_id):
        message = f"{name} reports a delivery on another network than {journey.to_chain}."
        return Unproved(FailureCode.WRONG_CHAIN, message)
    if status.destination_account not in (None, journey.recipient):
        message = f"{name} reports a delivery to another recipient than {journey.recipient}."
        return Unproved(FailureCode.WRONG_RECIPIENT, message)
    if status.destination_token not in (None, journey.token):
        return _other_token(status, journey)
    if not status.destination_hash:
        return Unproved(
            FailureCode.TRANSACTION_NOT_FOUND, f"{name} reports a delivery without naming its transaction."
        )
    canonical = _canonical(status, journey)
    if not canonical:
        message = f"{name} reports a delivery by a hash that is not valid on {journey.to_chain}."
        return Unproved(FailureCode.TRANSACTION_NOT_FOUND, message)
    amount = status.destination_amount
    is_amount = amount is not None and 0 < amount <= UINT256_MAX
    return Delivered(canonical, amount if is_amount else None)


def pause_seconds(polls: int, retry_after: float | None) -> float:
    """Return the seconds before the next poll.

    The provider's `retry_after` is used if there is one. Otherwise, the pause depends on the number of polls.
    """
    if retry_after is not None and retry_after > 0:
        return min(max(retry_after, 1.0), _LONGEST_RETRY_AFTER)
    for pause, times in _PAUSES:
        if polls < times:
            return pause
        polls -= times
    return _LAST_PAUSE


def shown_url(url: str | None) -> str:
    """Return a provider's link if it is safe to show: https, with a host, without credentials, not too long.

    Else return "".
    """
    if not url or len(url) > _LONGEST_URL or not url.isascii() or not url.isprintable() or " " in url:
        return ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    is_plain = parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc
    return url if is_plain else ""


def shown_status(raw: str) -> str:
    """Return the printable characters of a provider's status, truncated for its column."""
    return "".join(letter for letter in raw if letter.isprintable())[:_LONGEST_STATUS]
