"""LI.FI's word on a swap turned into ours. Source: the StatusResponse of its OpenAPI document, and its status page."""

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
    """Whether LI.FI says that the hash is none of the tool that we named."""
    return isinstance(body, dict) and body.get("status") == "INVALID"


def status_from(body: Any, tracking: Json, source_hash: str) -> SwapStatus:
    """Return what LI.FI's status says of the swap that `source_hash` began.

    LI.FI also answers for destination hashes and for other transfers: unless the answer is of this very hash, and of
    the quote's id where it tells one, the swap is UNKNOWN. A status that is new to us is BRIDGING. Raises ProviderDown
    for a delivery of which it does not tell where.
    """
    said = reading.members(body, "status")
    status = reading.word(said.get("status"), "status")
    substatus = reading.word(said["substatus"], "substatus") if said.get("substatus") else ""
    raw = f"{status}/{substatus}"[: reading.LONGEST_WORD] if substatus else status
    if status in ("NOT_FOUND", "INVALID") or not _is_of(said, tracking, source_hash):
        return SwapStatus(SwapState.UNKNOWN, raw)
    state = _state(status, substatus)
    explorer_url = _own_page(said.get("lifiExplorerLink"))
    if state not in (SwapState.DELIVERED, SwapState.DELIVERED_OTHER_TOKEN):
        return SwapStatus(state, raw, explorer_url=explorer_url)
    return replace(
        _delivered(state, raw, said.get("receiving"), explorer_url), destination_account=_recipient(said)
    )


def _state(status: str, substatus: str) -> SwapState:
    if status == "PENDING":
        return _PENDING.get(substatus, SwapState.BRIDGING)
    if status == "DONE":
        return _DONE.get(substatus, SwapState.BRIDGING)
    if status == "FAILED":
        return _FAILED.get(substatus, SwapState.FAILED)
    return SwapState.BRIDGING


def _is_of(said: Json, tracking: Json, source_hash: str) -> bool:
    """Whether the answer is of this transaction and this quote."""
    sending = said.get("sending")
    told = sending.get("txHash") if isinstance(sending, dict) else None
    if told is None or reading.transaction_hash(told, "source hash") != source_hash:
        return False
    told_id = said.get("transactionId")
    if told_id is None:
        return True
    ours = bytes.fromhex(str(tracking["transaction_id"])[2:])
    found = reading.data_bytes(told_id, "transaction id", most=32)
    # Some bridges' calls, and Solana's, carry the first eight bytes alone.
    return found == ours or found.ljust(32, b"\0") == ours[:8].ljust(32, b"\0")


def _own_page(link: Any) -> str | None:
    """Return the link if it leads to LI.FI: customers follow it to claim refunds, and sign what they find there."""
    told = reading.web_address(link)
    return told if told and _OWN_HOST.match(told) else None


def _recipient(said: Json) -> str | None:
    """Return whom LI.FI says that it delivered to; None where it does not say."""
    told = said.get("toAddress")
    return None if told is None else reading.account(told, "recipient")


def _delivered(state: SwapState, raw: str, receiving: Any, explorer_url: str | None) -> SwapStatus:
    if state == SwapState.DELIVERED_OTHER_TOKEN and not isinstance(receiving, dict):
        return SwapStatus(state, raw, explorer_url=explorer_url)
    said = reading.members(receiving, "delivery")
    token = reading.members(said.get("token"), "delivered token")
    return SwapStatus(
        state,
        raw,
        destination_chain_id=reading.chain_id(said.get("chainId"), "delivery's chain"),
        destination_hash=reading.transaction_hash(said.get("txHash"), "delivery's hash"),
        destination_token=reading.token(token.get("address"), "delivered token"),
        destination_amount=reading.amount(said.get("amount"), "delivered amount"),
        explorer_url=explorer_url,
    )
