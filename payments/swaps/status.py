"""What a provider's word on a swap means: pure. Nothing that it says completes a payment; it says where to look."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from chains.families import HashError, family_of
from chains.fields import UINT256_MAX
from payments.models.payment import FailureCode
from payments.providers.base import SwapState, SwapStatus

_LONGEST_URL = 500
_LONGEST_WORD = 64

# How soon a provider is asked again, in seconds, for how many looks (routing practice of LI.FI's reference client).
_PAUSES = ((10, 6), (30, 6), (60, 12))
_LAST_PAUSE = 120
_LONGEST_ADVICE = 300


@dataclass(frozen=True)
class Journey:
    """Where a swap goes: onto which chain, in which token (its contract, empty for native coin), to whose account."""

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
    """No end yet. `ask_source`: the provider may not have seen the customer's transaction, so the chain is asked."""

    detail: str
    ask_source: bool = False


@dataclass(frozen=True)
class Delivered:
    """The provider says that it has delivered: by this canonical hash, so many base units if it says how many."""

    transaction_hash: str
    amount: int | None


@dataclass(frozen=True)
class Unproved:
    """The provider says that it has delivered, in a way that no node can bear out."""

    code: FailureCode
    message: str


@dataclass(frozen=True)
class Ended:
    """By the provider's word nothing will be delivered as asked."""

    code: FailureCode
    message: str


Word = UnderWay | Delivered | Unproved | Ended


def read_status(status: SwapStatus, journey: Journey) -> Word:
    """Return what the provider's word means for a payment."""
    name = journey.provider
    match status.state:
        case SwapState.UNKNOWN:
            return UnderWay(
                f"Sent on {journey.from_chain}; {name} has not taken notice of it yet.", ask_source=True
            )
        case SwapState.AWAITING_SOURCE:
            return UnderWay(
                f"Sent; {name} waits until {journey.from_chain} has confirmed it.", ask_source=True
            )
        case SwapState.BRIDGING:
            return UnderWay(f"{name} is bringing the {journey.symbol} to {journey.to_chain}.")
        case SwapState.REFUNDING:
            return UnderWay(f"{name} could not deliver, and is sending the money back to the payer.")
        case SwapState.DELIVERED:
            return _delivered(status, journey)
        case SwapState.DELIVERED_OTHER_TOKEN:
            return _other_token(status, journey)
        case SwapState.REFUNDED:
            return Ended(
                FailureCode.SWAP_REFUNDED,
                f"{name} could not deliver, and says that it has sent the money back to the wallet that paid, on "
                f"{journey.from_chain}. The payment can be made again.",
            )
        case SwapState.NEEDS_CLAIM:
            return Ended(
                FailureCode.SWAP_FAILED,
                f"{name} could not deliver, and keeps the money until the customer claims it back there. Once that is "
                "done, the payment can be made again.",
            )
        case SwapState.FAILED:
            return Ended(
                FailureCode.SWAP_FAILED,
                f"{name} says that the swap has failed. Look there whether the money has come back before the payment "
                "is made again.",
            )


def _other_token(status: SwapStatus, journey: Journey) -> Ended:
    hash_ = _canonical(status, journey)
    where = f" by transaction {hash_} on {journey.to_chain}" if hash_ else ""
    return Ended(
        FailureCode.SWAP_PARTIAL,
        f"{journey.provider} could not make the last exchange, and says that it delivered another token than "
        f"{journey.symbol} to the merchant's wallet{where}. Nothing was counted: please contact the merchant, who can "
        "see it there.",
    )


def _canonical(status: SwapStatus, journey: Journey) -> str:
    """Return the transaction that the provider names as the delivery, or nothing where there can be no such one."""
    try:
        return family_of(journey.chain_type).normalise_transaction_hash(status.destination_hash or "")
    except HashError:
        return ""


def _delivered(status: SwapStatus, journey: Journey) -> Word:
    """Return what a delivery's own words say of it.

    One transaction may deliver for many. So a thief's swap to the thief, delivered together with somebody else's
    payment to the merchant, must not be paid by that: what is said to have gone elsewhere is not looked for.
    """
    name = journey.provider
    if status.destination_chain_id not in (None, journey.chain_id):
        message = f"{name} says that it delivered on another network than {journey.to_chain}."
        return Unproved(FailureCode.WRONG_CHAIN, message)
    if status.destination_account not in (None, journey.recipient):
        message = f"{name} says that it delivered to another recipient than {journey.recipient}."
        return Unproved(FailureCode.WRONG_RECIPIENT, message)
    if status.destination_token not in (None, journey.token):
        return _other_token(status, journey)
    if not status.destination_hash:
        return Unproved(
            FailureCode.TRANSACTION_NOT_FOUND, f"{name} says that it delivered, and not by which transaction."
        )
    canonical = _canonical(status, journey)
    if not canonical:
        message = f"{name} says that it delivered, by what is no transaction of {journey.to_chain}."
        return Unproved(FailureCode.TRANSACTION_NOT_FOUND, message)
    amount = status.destination_amount
    is_amount = amount is not None and 0 < amount <= UINT256_MAX
    return Delivered(canonical, amount if is_amount else None)


def pause_seconds(looks: int, advice: float | None) -> float:
    """Return how long to wait after so many looks before the provider is asked again; its own advice comes first."""
    if advice is not None and advice > 0:
        return min(max(advice, 1.0), _LONGEST_ADVICE)
    for pause, times in _PAUSES:
        if looks < times:
            return pause
        looks -= times
    return _LAST_PAUSE


def shown_url(url: str | None) -> str:
    """Return a provider's link if a page may show it: https, with a host and no credentials, of sane length."""
    if not url or len(url) > _LONGEST_URL or not url.isascii() or not url.isprintable() or " " in url:
        return ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    is_plain = parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc
    return url if is_plain else ""


def shown_word(raw: str) -> str:
    """Return a provider's own status as it may be kept and shown."""
    return "".join(letter for letter in raw if letter.isprintable())[:_LONGEST_WORD]
