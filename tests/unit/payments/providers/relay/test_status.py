"""Relay's status of a swap is mapped to one of ours.

A reported delivery is only a claim, which names its transaction.
"""

import json
from typing import Any

import pytest
import responses
from solders.signature import Signature

from payments.providers.base import ListedToken, ProviderDown, SwapState, SwapStatus
from payments.providers.relay.client import RelayProvider
from tests.support.routing.offers import DAI_HERE, HERE, SOLANA, THERE, USDC_HERE, USDC_ON_SOLANA, USDC_THERE
from tests.support.routing.relay_world import API, KEY, REQUEST_ID

SOURCE = "0x" + "a1" * 32
DELIVERY = "0x" + "b2" * 32
TRACKING = {"request_id": REQUEST_ID, "from_chain": HERE, "to_chain": THERE, "to_token": USDC_THERE}
SUCCESS = {
    "status": "success",
    "inTxHashes": [SOURCE],
    "txHashes": [DELIVERY],
    "originChainId": HERE,
    "destinationChainId": THERE,
}
URL = f"https://relay.link/transaction/{REQUEST_ID}"


def _tracked(
    answers: responses.RequestsMock, body: Any, *, key: str = "", source: str = SOURCE, **how: Any
) -> SwapStatus:
    answers.get(f"{API}/intents/status/v3", json=body, **how)
    return RelayProvider(API, key).status(TRACKING, source)


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("unknown", SwapState.UNKNOWN),
        ("waiting", SwapState.AWAITING_SOURCE),
        ("depositing", SwapState.BRIDGING),
        ("pending", SwapState.BRIDGING),
        ("submitted", SwapState.BRIDGING),
        ("delayed", SwapState.BRIDGING),
        ("a-word-of-tomorrow", SwapState.BRIDGING),
        ("refund", SwapState.REFUNDED),
        ("failure", SwapState.FAILED),
    ],
)
def test_each_status_is_one_of_our_states(
    answers: responses.RequestsMock, status: str, state: SwapState
) -> None:
    found = _tracked(answers, {"status": status, "inTxHashes": [SOURCE]})
    assert (found.state, found.raw, found.destination_hash) == (state, status, None)
    assert found.explorer_url == URL


def test_query_names_the_request_and_keeps_the_key_in_a_header(
    answers: responses.RequestsMock,
) -> None:
    answers.get(f"{API}/requests/v3", json={"requests": []})
    _tracked(answers, SUCCESS, key=KEY)
    for call in answers.calls:
        assert call.request.headers["x-api-key"] == KEY
        assert KEY not in (call.request.url or "")
    assert answers.calls[0].request.url == f"{API}/intents/status/v3?requestId={REQUEST_ID}"
    assert answers.calls[1].request.url == f"{API}/requests/v3?id={REQUEST_ID}"


def test_a_success_is_a_delivery_by_the_last_of_its_transactions(answers: responses.RequestsMock) -> None:
    found = _tracked(answers, SUCCESS | {"txHashes": ["0x" + "c3" * 32, DELIVERY.upper().replace("X", "x")]})
    assert found == SwapStatus(
        SwapState.DELIVERED,
        "success",
        destination_chain_id=THERE,
        destination_hash=DELIVERY,
        explorer_url=URL,
    )


def test_a_delivery_on_solana_keeps_its_signature_as_it_is(answers: responses.RequestsMock) -> None:
    signature = str(Signature.from_bytes(b"\x05" * 64))
    found = _tracked(answers, SUCCESS | {"txHashes": [signature], "destinationChainId": 792703809})
    assert (found.destination_chain_id, found.destination_hash) == (SOLANA, signature)


def test_delivery_without_a_chain_is_on_the_requested_one(
    answers: responses.RequestsMock,
) -> None:
    body = {name: value for name, value in SUCCESS.items() if name != "destinationChainId"}
    assert _tracked(answers, body).destination_chain_id == THERE


@pytest.mark.parametrize("hashes", [["0x" + "d4" * 32], ["0x" + "d4" * 32, "0x" + "e5" * 32]])
def test_a_request_that_another_transaction_began_is_unknown(
    answers: responses.RequestsMock, hashes: list[str]
) -> None:
    found = _tracked(answers, SUCCESS | {"inTxHashes": hashes})
    assert (found.state, found.destination_hash) == (SwapState.UNKNOWN, None)


@pytest.mark.parametrize(
    "hashes", [None, [], [SOURCE], [SOURCE.upper().replace("X", "x")], ["0x" + "d4" * 32, SOURCE]]
)
def test_request_of_this_or_no_transaction_is_this_swap(answers: responses.RequestsMock, hashes: Any) -> None:
    assert _tracked(answers, SUCCESS | {"inTxHashes": hashes}).state == SwapState.DELIVERED


def test_a_source_on_solana_is_compared_by_its_exact_signature(answers: responses.RequestsMock) -> None:
    ours, theirs = (str(Signature.from_bytes(bytes([byte]) * 64)) for byte in (5, 6))
    assert _tracked(answers, SUCCESS | {"inTxHashes": [ours]}, source=ours).state == SwapState.DELIVERED
    assert _tracked(answers, SUCCESS | {"inTxHashes": [theirs]}, source=ours).state == SwapState.UNKNOWN


@pytest.mark.parametrize(
    ("said", "state", "raw"),
    [
        ({"failReason": "SLIPPAGE"}, SwapState.FAILED, "failure/SLIPPAGE"),
        ({"failReason": "N/A"}, SwapState.FAILED, "failure"),
        ({"refundFailReason": "AMOUNT_TOO_LOW_TO_REFUND"}, SwapState.FAILED, "failure"),
        ({"refundFailReason": "MANUAL_REFUND_REQUIRED"}, SwapState.NEEDS_CLAIM, "failure"),
        ({"refundFailReason": "REFUND_RECIPIENT_IS_VASP"}, SwapState.NEEDS_CLAIM, "failure"),
    ],
)
def test_failure_has_its_reason_and_whether_to_claim(
    answers: responses.RequestsMock, said: dict[str, str], state: SwapState, raw: str
) -> None:
    found = _tracked(answers, {"status": "failure", "inTxHashes": [SOURCE], **said})
    assert (found.state, found.raw) == (state, raw)


@pytest.mark.parametrize("body", [{"message": "Request not found"}, {}, None])
def test_request_missing_at_relay_is_unknown_not_failed(answers: responses.RequestsMock, body: Any) -> None:
    assert _tracked(answers, body, status=404).state == SwapState.UNKNOWN


@pytest.mark.parametrize("status", [400, 403, 429, 500])
def test_any_other_failure_is_an_invalid_response(answers: responses.RequestsMock, status: int) -> None:
    with pytest.raises(ProviderDown):
        _tracked(answers, {"status": "failure"}, status=status)


@pytest.mark.parametrize(
    "change",
    [
        {"status": None},
        {"status": 7},
        {"status": "x" * 100},
        {"txHashes": []},
        {"txHashes": None},
        {"txHashes": ["nonsense"]},
        {"txHashes": [7]},
        {"txHashes": "0x" + "b2" * 32},
        {"inTxHashes": ["nonsense"]},
        {"inTxHashes": {}},
        {"destinationChainId": "8453"},
        {"destinationChainId": 4663},
        {"failReason": {"a": 1}},
    ],
    ids=json.dumps,
)
def test_success_without_sense_is_invalid(answers: responses.RequestsMock, change: dict[str, Any]) -> None:
    with pytest.raises(ProviderDown):
        _tracked(answers, SUCCESS | change)


@pytest.mark.parametrize("body", [None, [], "success", 7, [SUCCESS]])
def test_response_that_is_no_status_is_invalid(answers: responses.RequestsMock, body: Any) -> None:
    with pytest.raises(ProviderDown):
        _tracked(answers, body)


def test_tracking_without_a_request_raises_without_a_call() -> None:
    with responses.RequestsMock() as mock:
        with pytest.raises(ValueError, match="not a request id"):
            RelayProvider(API, KEY).status(TRACKING | {"request_id": "../../chains"}, SOURCE)
        assert len(mock.calls) == 0


def test_testnets_are_shown_on_their_own_pages(answers: responses.RequestsMock) -> None:
    answers.get("https://api.testnets.relay.link/intents/status/v3", json={"status": "waiting"})
    found = RelayProvider("https://api.testnets.relay.link", "").status(TRACKING, SOURCE)
    assert found.explorer_url == f"https://testnets.relay.link/transaction/{REQUEST_ID}"


# --- what was delivered ------------------------------------------------------------------------------------------


def _listed(token: Any = USDC_THERE, amount: Any = "10000042", **changes: Any) -> dict[str, Any]:
    output = {"currency": {"chainId": THERE, "address": token}, "amount": amount}
    request = {
        "id": REQUEST_ID,
        "status": "success",
        "data": {"route": {"actual": {"destination": {"outputCurrency": output}}}},
    }
    return {"requests": [request | changes]}


def _tracked_with_list(answers: responses.RequestsMock, listed: Any, **how: Any) -> SwapStatus:
    answers.get(f"{API}/requests/v3", json=listed, **how)
    return _tracked(answers, SUCCESS, key=KEY)


def test_delivery_with_an_api_key_has_token_and_amount(answers: responses.RequestsMock) -> None:
    found = _tracked_with_list(answers, _listed(USDC_THERE.lower()))
    assert (found.state, found.destination_token, found.destination_amount) == (
        SwapState.DELIVERED,
        USDC_THERE,
        10_000_042,
    )


def test_delivery_of_another_token_is_distinguished(answers: responses.RequestsMock) -> None:
    found = _tracked_with_list(answers, _listed(DAI_HERE))
    assert (found.state, found.destination_token) == (SwapState.DELIVERED_OTHER_TOKEN, DAI_HERE)


@pytest.mark.parametrize(
    "listed",
    [
        {"requests": []},
        _listed(id="0x" + "99" * 32),
        _listed(data={}),
        _listed(data={"route": {"actual": None}}),
        _listed(data={"route": 7}),
        _listed(token=None),
        _listed(amount="-1"),
        {},
        [],
        None,
    ],
    ids=str,
)
def test_list_without_details_keeps_the_delivery(answers: responses.RequestsMock, listed: Any) -> None:
    found = _tracked_with_list(answers, listed)
    assert (found.state, found.destination_hash) == (SwapState.DELIVERED, DELIVERY)
    assert (found.destination_token, found.destination_amount) == (None, None)


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_a_list_that_is_down_takes_nothing_from_the_delivery(
    answers: responses.RequestsMock, status: int
) -> None:
    found = _tracked_with_list(answers, {}, status=status)
    assert (found.state, found.destination_amount) == (SwapState.DELIVERED, None)


@pytest.mark.parametrize("key", ["", KEY])
def test_list_is_queried_with_a_key_after_success_only(answers: responses.RequestsMock, key: str) -> None:
    _tracked(answers, {"status": "pending", "inTxHashes": [SOURCE]}, key=key)
    _tracked(answers, SUCCESS, key="")
    assert all("/requests/" not in (call.request.url or "") for call in answers.calls)


# --- tokens ------------------------------------------------------------------------------------------------------

CHAINS = {
    "chains": [
        {
            "id": HERE,
            "depositEnabled": True,
            "disabled": False,
            "solverCurrencies": [
                {"address": "0x" + "0" * 40, "symbol": "ETH", "name": "Ether", "decimals": 18},
                {"address": USDC_HERE.lower(), "symbol": "USDC", "name": "USD Coin", "decimals": 6},
                {"address": "0xnonsense", "symbol": "BAD", "name": "Bad", "decimals": 6},
                {"address": DAI_HERE, "symbol": "DAI", "name": "Dai", "decimals": "18"},
                None,
                "USDC",
            ],
        },
        {
            "id": 792703809,
            "solverCurrencies": [
                {"address": USDC_ON_SOLANA, "symbol": "USDC\u202e", "name": "USD Coin", "decimals": 6}
            ],
        },
        {"id": 10, "disabled": True, "solverCurrencies": [{"address": USDC_HERE, "decimals": 6}]},
        {"id": 137, "depositEnabled": False, "solverCurrencies": [{"address": USDC_HERE, "decimals": 6}]},
        {"id": True, "solverCurrencies": [{"address": USDC_HERE, "decimals": 6}]},
        {"id": 56, "solverCurrencies": {"address": USDC_HERE}},
        None,
    ]
}


def test_tokens_are_those_of_relay_on_active_chains(
    answers: responses.RequestsMock,
) -> None:
    answers.get(f"{API}/chains", json=CHAINS)
    assert RelayProvider(API, KEY).tokens([1, HERE, SOLANA, 10, 137, 56, 31337]) == [
        ListedToken(HERE, "", "ETH", "Ether", 18, None),
        ListedToken(HERE, USDC_HERE, "USDC", "USD Coin", 6, None),
        ListedToken(SOLANA, USDC_ON_SOLANA, "USDC", "USD Coin", 6, None),
    ]


@pytest.mark.parametrize(("body", "status"), [([], 200), ({"chains": 7}, 200), ({}, 401), ({}, 500)])
def test_malformed_token_list_is_invalid(answers: responses.RequestsMock, body: Any, status: int) -> None:
    answers.get(f"{API}/chains", json=body, status=status)
    provider = RelayProvider(API, KEY)
    with pytest.raises(ProviderDown):
        provider.tokens([HERE])
