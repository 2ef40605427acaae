"""The meaning of a provider's status, and the parts of it that may be stored and shown."""

import pytest

from payments.models import FailureCode
from payments.providers.base import SwapState, SwapStatus
from payments.swaps.status import (
    Delivered,
    Ended,
    Journey,
    UnderWay,
    Unproved,
    pause_seconds,
    read_status,
    shown_status,
    shown_url,
)

USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
MERCHANT = "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc"
MINT, OWNER = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "7YttLkHDoNj9wyDur5pM1ejNaAvT9X4eqaYcHQqtj2G5"
EVM = Journey("Relay", "Ethereum", "Base", 8453, "evm", "USDC", USDC, MERCHANT)
SOLANA = Journey("LI.FI", "Base", "Solana", 1151111081099710, "solana", "USDC", MINT, OWNER)
HASH = "0x" + "Ab" * 32
SIGNATURE = "5" * 87


@pytest.mark.parametrize("state", SwapState)
def test_every_state_means_something_for_people(state: SwapState) -> None:
    word = read_status(SwapStatus(state, "raw", destination_hash=HASH), EVM)
    match word:
        case UnderWay():
            assert word.detail.endswith(".")
            assert "Relay" in word.detail
        case Ended():
            assert word.code in (FailureCode.SWAP_PARTIAL, FailureCode.SWAP_REFUNDED, FailureCode.SWAP_FAILED)
            assert word.message.startswith("Relay")
            assert len(word.message) <= 500
        case Delivered():
            assert state == SwapState.DELIVERED
        case Unproved():
            raise AssertionError(word)


@pytest.mark.parametrize("state", [SwapState.UNKNOWN, SwapState.AWAITING_SOURCE])
def test_before_the_provider_has_seen_it_the_source_is_asked(state: SwapState) -> None:
    word = read_status(SwapStatus(state, "raw"), EVM)
    assert isinstance(word, UnderWay)
    assert word.ask_source


def delivered(journey: Journey = EVM, **said: object) -> object:
    return read_status(SwapStatus(SwapState.DELIVERED, "DONE", **{"destination_hash": HASH, **said}), journey)  # type: ignore[arg-type]


def test_a_deliverys_hash_is_made_canonical() -> None:
    assert delivered(destination_amount=7) == Delivered("0x" + "ab" * 32, 7)
    assert delivered(SOLANA, destination_hash=SIGNATURE) == Delivered(SIGNATURE, None)
    assert delivered(SOLANA) == Unproved(
        FailureCode.TRANSACTION_NOT_FOUND,
        "LI.FI reports a delivery by a hash that is not valid on Solana.",
    )


@pytest.mark.parametrize("amount", [None, 0, -1, 2**256])
def test_an_amount_that_is_none_is_not_taken_for_one(amount: int | None) -> None:
    assert delivered(destination_amount=amount) == Delivered("0x" + "ab" * 32, None)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"destination_chain_id": 1}, FailureCode.WRONG_CHAIN),
        ({"destination_hash": None}, FailureCode.TRANSACTION_NOT_FOUND),
        ({"destination_hash": ""}, FailureCode.TRANSACTION_NOT_FOUND),
        ({"destination_hash": "0x12"}, FailureCode.TRANSACTION_NOT_FOUND),
        ({"destination_hash": SIGNATURE}, FailureCode.TRANSACTION_NOT_FOUND),
    ],
)
def test_what_no_node_can_bear_out(said: dict[str, object], code: FailureCode) -> None:
    word = delivered(**said)
    assert isinstance(word, Unproved)
    assert word.code == code


def test_delivery_reported_to_another_recipient_is_unproved() -> None:
    assert isinstance(delivered(destination_account=MERCHANT, destination_token=USDC), Delivered)
    elsewhere = delivered(destination_account=OWNER)
    assert isinstance(elsewhere, Unproved)
    assert (elsewhere.code, "another recipient" in elsewhere.message) == (FailureCode.WRONG_RECIPIENT, True)


def test_delivery_reported_in_other_token_equals_that_state() -> None:
    other = delivered(destination_token="")
    assert other == read_status(
        SwapStatus(SwapState.DELIVERED_OTHER_TOKEN, "raw", destination_hash=HASH), EVM
    )


def test_another_tokens_delivery_is_named_where_it_could_be_one() -> None:
    named = delivered(destination_token="")
    assert isinstance(named, Ended)
    assert f"to the merchant's wallet by transaction {HASH.lower()} on Base." in named.message
    for hash_ in (None, "", "<script>"):
        unnamed = delivered(destination_token="", destination_hash=hash_)
        assert isinstance(unnamed, Ended)
        assert "to the merchant's wallet. Nothing was credited" in unnamed.message


def test_pauses_grow_and_clamped_provider_advice_has_priority() -> None:
    assert [pause_seconds(looks, None) for looks in (0, 5, 6, 11, 12, 23, 24, 10_000)] == [
        *(10, 10, 30, 30, 60, 60, 120, 120)
    ]
    assert [pause_seconds(0, advice) for advice in (45.0, 0.01, 1e9, 0, -5)] == [45, 1, 300, 10, 10]


@pytest.mark.parametrize("url", ["https://scan.li.fi/tx/0xabc", "https://relay.link/transaction/0x1?a=b#c"])
def test_links_that_may_be_shown(url: str) -> None:
    assert shown_url(url) == url


@pytest.mark.parametrize(
    "url",
    [
        None,
        "",
        "http://scan.li.fi/tx",
        "javascript:alert(1)",
        "https:///tx",
        "https://",
        "https://user:password@scan.li.fi/",
        "https://scan.li.fi/a b",
        "https://scan.li.fi/\n",
        "https://scаn.li.fi/",
        "https://[::1",
        "//scan.li.fi/tx",
        "https://scan.li.fi/" + "a" * 500,
    ],
)
def test_links_that_may_not(url: str | None) -> None:
    assert shown_url(url) == ""


def test_a_providers_word_is_kept_short_and_printable() -> None:
    assert shown_status("DONE/COMPLETED") == "DONE/COMPLETED"
    assert shown_status("a\x00b\u202ec\n" + "d" * 100) == "abc" + "d" * 61
