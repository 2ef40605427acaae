"""Each status of LI.FI maps to a swap state; the status of another swap is ignored."""

from typing import Any

import pytest

from payments.providers.base import ProviderDown, SwapState, SwapStatus
from tests.support.routing.lifi_world import (
    ARBITRUM,
    BASE,
    DELIVERY_HASH,
    ID,
    KEY,
    MERCHANT,
    NATIVE,
    SOLANA,
    SOURCE_HASH,
    TRACKING,
    USDC,
    Json,
    answering,
    changed,
    refusal,
    status,
    token,
)

EXPLORER = "https://scan.li.fi/tx/" + SOURCE_HASH
SIGNATURE = "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW"


def tracked(answer: Any, tracking: Json = TRACKING, source_hash: str = SOURCE_HASH) -> SwapStatus:
    with answering(answer) as lifi:
        return lifi.provider.status(tracking, source_hash)


@pytest.mark.parametrize(
    ("state", "substatus", "ours"),
    [
        ("PENDING", "WAIT_SOURCE_CONFIRMATIONS", SwapState.AWAITING_SOURCE),
        ("PENDING", "WAIT_DESTINATION_TRANSACTION", SwapState.BRIDGING),
        ("PENDING", "REFUND_IN_PROGRESS", SwapState.REFUNDING),
        ("PENDING", "INTENT_FAILED_RETRYABLE", SwapState.BRIDGING),
        ("PENDING", None, SwapState.BRIDGING),
        ("PENDING", "A_WORD_OF_TOMORROW", SwapState.BRIDGING),
        ("DONE", "COMPLETED", SwapState.DELIVERED),
        ("DONE", None, SwapState.DELIVERED),
        ("DONE", "PARTIAL", SwapState.DELIVERED_OTHER_TOKEN),
        ("DONE", "REFUNDED", SwapState.REFUNDED),
        ("DONE", "A_WORD_OF_TOMORROW", SwapState.BRIDGING),
        ("FAILED", "NOT_PROCESSABLE_REFUND_NEEDED", SwapState.NEEDS_CLAIM),
        ("FAILED", "OUT_OF_GAS", SwapState.FAILED),
        ("FAILED", "REFUNDED", SwapState.REFUNDED),
        ("FAILED", "UNKNOWN_ERROR", SwapState.FAILED),
        ("FAILED", None, SwapState.FAILED),
        ("A_WORD_OF_TOMORROW", "WHATEVER", SwapState.BRIDGING),
        ("NOT_FOUND", None, SwapState.UNKNOWN),
        ("INVALID", None, SwapState.UNKNOWN),
    ],
)
def test_each_of_its_words_has_one_of_ours(state: str, substatus: str | None, ours: SwapState) -> None:
    found = tracked(status(state, substatus))
    assert found.state == ours
    assert found.raw == (f"{state}/{substatus}" if substatus else state)
    if ours != SwapState.UNKNOWN:
        assert found.explorer_url == EXPLORER


def test_the_question_narrows_the_search() -> None:
    with answering(status()) as lifi:
        lifi.provider.status(TRACKING, SOURCE_HASH)
    (asked,) = lifi.asked
    assert asked.path == "/v1/status"
    assert asked.query == {
        "txHash": SOURCE_HASH,
        "fromChain": "42161",
        "toChain": "8453",
        "bridge": "stargateV2",
    }
    assert asked.headers["x-lifi-api-key"] == KEY
    assert KEY not in asked.target


def test_a_swap_on_one_chain_has_no_bridge() -> None:
    with answering(status()) as lifi:
        lifi.provider.status({**TRACKING, "to_chain": ARBITRUM}, SOURCE_HASH)
    (asked,) = lifi.asked
    assert asked.query == {"txHash": SOURCE_HASH, "fromChain": "42161", "toChain": "42161"}


@pytest.mark.parametrize("first", [(200, {"status": "INVALID"}), (400, refusal(1011, "bridge"))])
def test_hash_unknown_to_the_bridge_is_queried_without_it(first: tuple[int, Json]) -> None:
    with answering(first, status()) as lifi:
        assert lifi.provider.status(TRACKING, SOURCE_HASH).state == SwapState.BRIDGING
        assert [asked.query.get("bridge") for asked in lifi.asked] == ["stargateV2", None]
    with answering(first) as lifi:
        assert lifi.provider.status(TRACKING, SOURCE_HASH).state == SwapState.UNKNOWN
        assert len(lifi.asked) == 2


@pytest.mark.parametrize("body", [refusal(1003, "Not found"), {}, "Not Found", None])
def test_not_found_is_unknown_in_whatever_form_it_comes(body: Any) -> None:
    assert tracked((404, body)) == SwapStatus(SwapState.UNKNOWN, "NOT_FOUND")


def test_delivery_has_chain_hash_token_and_amount() -> None:
    assert tracked(status("DONE", "COMPLETED")) == SwapStatus(
        SwapState.DELIVERED,
        "DONE/COMPLETED",
        destination_chain_id=BASE,
        destination_hash=DELIVERY_HASH,
        destination_token=USDC,
        destination_amount=12_541_000,
        destination_account=MERCHANT,
        explorer_url=EXPLORER,
    )


def test_a_delivery_of_native_coin_names_no_token() -> None:
    answer = changed(status("DONE", "COMPLETED"), "receiving.token", token(BASE, NATIVE, "ETH", 18))
    assert tracked(answer).destination_token == ""


def test_a_delivery_in_another_token_may_leave_out_which() -> None:
    which = tracked(changed(status("DONE", "PARTIAL"), "receiving.token", token(BASE, NATIVE, "ETH", 18)))
    assert (which.destination_token, which.destination_amount) == ("", 12_541_000)
    for missing in (..., None):
        found = tracked(changed(status("DONE", "PARTIAL"), "receiving", missing))
        assert found.state == SwapState.DELIVERED_OTHER_TOKEN
        assert found.destination_hash is None


@pytest.mark.parametrize("receiving", [..., None, {"chainId": BASE}, [], "soon"])
def test_delivery_without_a_transaction_is_invalid(receiving: Any) -> None:
    with pytest.raises(ProviderDown):
        tracked(changed(status("DONE", "COMPLETED"), "receiving", receiving))


@pytest.mark.parametrize("receiving", [..., None, {"chainId": BASE}])
def test_pending_swap_needs_no_destination(receiving: Any) -> None:
    assert tracked(changed(status(), "receiving", receiving)).state == SwapState.BRIDGING


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("sending.txHash", "0x" + "5b" * 32),
        ("sending.txHash", DELIVERY_HASH),
        ("sending.txHash", None),
        ("sending", ...),
        ("sending", None),
        ("transactionId", "0x" + "7d" * 31 + "02"),
        ("transactionId", "0x" + "7d" * 7 + "00" * 25),
        ("transactionId", "0x"),
    ],
)
@pytest.mark.parametrize("outcome", [("DONE", "COMPLETED"), ("FAILED", "EXPIRED"), ("DONE", "REFUNDED")])
def test_the_outcome_of_another_transfer_is_none_of_ours(
    path: str, value: Any, outcome: tuple[str, str]
) -> None:
    """LI.FI also returns a status for other hashes that it knows, such as destination hashes."""
    found = tracked(changed(status(*outcome), path, value))
    assert found.state == SwapState.UNKNOWN
    assert (found.destination_hash, found.explorer_url) == (None, None)


@pytest.mark.parametrize("spelled", [..., ID.upper().replace("0X", "0x"), ID[:18], ID[:18] + "0" * 48])
def test_the_id_may_be_left_out_or_cut_as_some_bridges_cut_it(spelled: Any) -> None:
    assert (
        tracked(changed(status("DONE", "COMPLETED"), "transactionId", spelled)).state == SwapState.DELIVERED
    )


def test_hashes_compare_as_their_chain_writes_them() -> None:
    upper = changed(status(), "sending.txHash", SOURCE_HASH.upper().replace("0X", "0x"))
    assert tracked(upper).state == SwapState.BRIDGING
    tracking = {**TRACKING, "from_chain": SOLANA}
    answer = changed(status(), "sending.txHash", SIGNATURE)
    assert tracked(answer, tracking, SIGNATURE).state == SwapState.BRIDGING
    other_case = changed(status(), "sending.txHash", SIGNATURE.swapcase())
    with pytest.raises(ProviderDown):
        tracked(other_case, tracking, SIGNATURE)


def test_delivery_has_its_recipient() -> None:
    assert tracked(status("DONE", "COMPLETED")).destination_account == MERCHANT
    stranger = "0x000000000000000000000000000000000000dEaD"
    found = tracked(changed(status("DONE", "COMPLETED"), "toAddress", stranger.lower()))
    assert (found.state, found.destination_account) == (SwapState.DELIVERED, stranger)
    assert tracked(changed(status("DONE", "COMPLETED"), "toAddress", None)).destination_account is None
    with pytest.raises(ProviderDown):
        tracked(changed(status("DONE", "COMPLETED"), "toAddress", "merchant.eth"))


@pytest.mark.parametrize(
    "link",
    [
        "http://scan.li.fi/tx/1",
        "javascript:alert(1)",
        "https://somebody:secret@scan.li.fi/",
        "https://scan.li.fi/\u202e",
        'https://scan.li.fi/"><script>',
        "https://scan.li.fi/" + "a" * 600,
        "https://",
        "//scan.li.fi",
        "https://claim-your-refund.example/scan.li.fi/",
        "https://scan.li.fi.example/tx/1",
        "https://notli.fi/tx/1",
        "https://example\\.li.fi/",
        5,
        None,
        ...,
    ],
)
def test_only_an_https_address_is_shown_as_a_link(link: Any) -> None:
    found = tracked(changed(status(), "lifiExplorerLink", link))
    assert found == SwapStatus(SwapState.BRIDGING, "PENDING/WAIT_DESTINATION_TRANSACTION")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("status", ...),
        ("status", None),
        ("status", 5),
        ("status", "DO\nNE"),
        ("status", "D" * 65),
        ("substatus", ["COMPLETED"]),
        ("substatus", "<b>"),
        ("sending.txHash", "0x5a"),
        ("sending.txHash", 5),
        ("transactionId", 7),
        ("transactionId", "0x" + "7d" * 33),
        ("receiving.txHash", "0xdeadbeef"),
        ("receiving.txHash", ...),
        ("receiving.chainId", "8453"),
        ("receiving.chainId", 8453.5),
        ("receiving.token", ...),
        ("receiving.token.address", "USDC"),
        ("receiving.amount", -1),
        ("receiving.amount", 1.5),
        ("receiving.amount", "1e6"),
        ("receiving.amount", str(2**256)),
        ("receiving.amount", None),
    ],
)
def test_status_without_sense_is_invalid(path: str, value: Any) -> None:
    with pytest.raises(ProviderDown):
        tracked(changed(status("DONE", "COMPLETED"), path, value))


@pytest.mark.parametrize("answer", [None, [], "DONE", 5, {}])
def test_response_that_is_no_status_is_invalid(answer: Any) -> None:
    with pytest.raises(ProviderDown):
        tracked((200, answer))


@pytest.mark.parametrize("http_status", [403, 424, 500])
def test_a_failing_provider_says_nothing_of_the_swap(http_status: int) -> None:
    with answering((http_status, refusal(1006, "Sorry"))) as lifi:
        with pytest.raises(ProviderDown):
            lifi.provider.status(TRACKING, SOURCE_HASH)
        assert len(lifi.asked) == 1
