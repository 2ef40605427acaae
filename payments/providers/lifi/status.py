"""Parse LI.FI's status of a swap, as in the StatusResponse of its OpenAPI document and on its status page."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from payments.providers import reading
from payments.providers.base import SwapState, SwapStatus

Json = Mapping[str, Any]

_OWN_HOST = re.compile(r"https://([a-z0-9-]+\.)*li\.fi/")

_PENDING = {
    "WAIT_SOURCE_CONFIRMATIONS": SwapState.AWAITING_SOURCE,
    "REFUND_IN_PROGRESS": SwapState.REFUNDING,
}
_DONE = {
    "": SwapState.DELIVERED,
    "COMPLETED": SwapState.DELIVERED,
    "PARTIAL": SwapState.DELIVERED_OTHER_TOKEN,
    "REFUNDED": SwapState.REFUNDED,
}
_FAILED = {
    "NOT_PROCESSABLE_REFUND_NEEDED": SwapState.NEEDS_CLAIM,
    "REFUNDED": SwapState.REFUNDED,
}


def is_invalid(body: Any) -> bool:
    """Whether LI.FI reports that the hash is not a transaction of this bridge."""
    return isinstance(body, dict) and body.get("status") == "INVALID"


def status_from(body: Any, tracking: Json, source_hash: str) -> SwapStatus:
    """Parse LI.FI's status of the swap that `source_hash` started.

    LI.FI also finds swaps by the hash of a delivery or of another transfer. So the response must have this hash. If
    the response has a quote's id, it must be the id of this quote. Otherwise the swap is UNKNOWN. A status that we
    don't know is BRIDGING. Raises ProviderDown for a delivery without its transaction.
    """
    fields = reading.members(body, "status")
    status = reading.word(fields.get("status"), "status")
    substatus = reading.word(fields["substatus"], "substatus") if fields.get("substatus") else ""
    raw = f"{status}/{substatus}"[: reading.LONGEST_WORD] if substatus else status
    if status in ("NOT_FOUND", "INVALID") or not _is_of(fields, tracking, source_hash):
        return SwapStatus(SwapState.UNKNOWN, raw)
    state = _state(status, substatus)
    explorer_url = _own_page(fields.get("lifiExplorerLink"))
    if state not in (SwapState.DELIVERED, SwapState.DELIVERED_OTHER_TOKEN):
        return SwapStatus(state, raw, explorer_url=explorer_url)
    return replace(
        _delivered(state, raw, fields.get("receiving"), explorer_url), destination_account=_recipient(fields)
    )


def _state(status: str, substatus: str) -> SwapState:
    if status == "PENDING":
        return _PENDING.get(substatus, SwapState.BRIDGING)
    if status == "DONE":
        return _DONE.get(substatus, SwapState.BRIDGING)
    if status == "FAILED":
        return _FAILED.get(substatus, SwapState.FAILED)
    return SwapState.BRIDGING


def _is_of(fields: Json, tracking: Json, source_hash: str) -> bool:
    """Whether the response is for this transaction and this quote."""
    sending = fields.get("sending")
    hash_ = sending.get("txHash") if isinstance(sending, dict) else None
    if hash_ is None or reading.transaction_hash(hash_, "source hash") != source_hash:
        return False
    reported_id = fields.get("transactionId")
    if reported_id is None:
        return True
    ours = bytes.fromhex(str(tracking["transaction_id"])[2:])
    theirs = reading.data_bytes(reported_id, "transaction id", limit=32)
    # Calls on Solana contain only the first eight bytes of the id, and so do calls to some bridges.
    return theirs == ours or theirs.ljust(32, b"\0") == ours[:8].ljust(32, b"\0")


def _own_page(link: Any) -> str | None:
    """Return the link only if it leads to LI.FI, because customers claim refunds and sign transactions there."""
    url = reading.web_address(link)
    return url if url and _OWN_HOST.match(url) else None


def _recipient(fields: Json) -> str | None:
    recipient = fields.get("toAddress")
    return None if recipient is None else reading.account(recipient, "recipient")


def _delivered(state: SwapState, raw: str, receiving: Any, explorer_url: str | None) -> SwapStatus:
    if state == SwapState.DELIVERED_OTHER_TOKEN and not isinstance(receiving, dict):
        return SwapStatus(state, raw, explorer_url=explorer_url)
    fields = reading.members(receiving, "delivery")
    token = reading.members(fields.get("token"), "delivered token")
    return SwapStatus(
        state,
        raw,
        destination_chain_id=reading.chain_id(fields.get("chainId"), "delivery's chain"),
        destination_hash=reading.transaction_hash(fields.get("txHash"), "delivery's hash"),
        destination_token=reading.token(token.get("address"), "delivered token"),
        destination_amount=reading.amount(fields.get("amount"), "delivered amount"),
        explorer_url=explorer_url,
    )
