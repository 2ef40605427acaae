"""A recorded transfer through LI.FI: its status, its source's logs and its destination's trace agree."""

from typing import Any

from payments.providers.base import SwapState, SwapStatus
from payments.providers.calldata import carries_id
from tests.support.routing.lifi_world import answering
from tests.support.routing.recorded import recorded

RECORDED = recorded("lifi_gnosis_to_base")
TRANSFER_STARTED = "0xcba69f43792f9f399347222505213b55af8e0b0b54b893085c2e27ecbe1644f1"
DIAMOND = "0x1231deb6f5749ef6ce6943a275a1d3e7486f4eae"
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
TRACKING = {
    "transaction_id": RECORDED["status"]["transactionId"],
    "from_chain": 100,
    "to_chain": 8453,
    "to_address": "0x770569f85346B971114e11E4Bb5F7aC776673469",
    "tool": "stargateV2Bus",
}
SOURCE_HASH = RECORDED["source"]["receipt"]["transactionHash"]
DELIVERED = 381_000_000_000_000


def started(logs: list[dict[str, Any]]) -> bytes:
    """Return the data of the only log in which LI.FI's contract reports a started transfer."""
    (log,) = [log for log in logs if log["topics"][0] == TRANSFER_STARTED]
    assert log["address"] == DIAMOND
    return bytes.fromhex(log["data"][2:])


def test_its_status_is_a_delivery_of_what_arrived() -> None:
    with answering(RECORDED["status"], ratelimit_limit="100", ratelimit_reset="60") as lifi:
        found = lifi.provider.status(TRACKING, SOURCE_HASH)
    assert found == SwapStatus(
        SwapState.DELIVERED,
        "DONE/COMPLETED",
        destination_chain_id=8453,
        destination_hash=RECORDED["destination"]["receipt"]["transactionHash"],
        destination_token="",
        destination_amount=DELIVERED,
        destination_account="0x770569f85346B971114e11E4Bb5F7aC776673469",
        explorer_url="https://scan.li.fi/tx/" + SOURCE_HASH,
    )
    assert int(RECORDED["requested"]["amount"]) <= DELIVERED


def test_its_id_is_the_first_word_of_what_the_source_logged() -> None:
    logs = RECORDED["source"]["receipt"]["logs"]
    assert len(logs) == 17
    data = started(logs)
    offset = int.from_bytes(data[:32], "big")
    bound_by = bytes.fromhex(TRACKING["transaction_id"][2:])
    assert data[offset : offset + 32] == bound_by
    assert carries_id(b"\0\0\0\0" + data, bound_by)


def test_status_lookup_by_destination_hash_is_unknown() -> None:
    with answering(RECORDED["status"]) as lifi:
        found = lifi.provider.status(TRACKING, RECORDED["destination"]["receipt"]["transactionHash"])
    assert found.state == SwapState.UNKNOWN


def test_what_arrived_shows_in_the_trace_alone() -> None:
    destination = RECORDED["destination"]
    assert destination["transaction"]["value"] == "0x0"
    assert all(log["topics"][0] != TRANSFER for log in destination["receipt"]["logs"])
    recipient = RECORDED["requested"]["recipient"]
    arrived = [
        int(call["action"]["value"], 16)
        for call in destination["trace"]
        if call["action"].get("to") == recipient and "error" not in call
    ]
    assert arrived == [DELIVERED]
