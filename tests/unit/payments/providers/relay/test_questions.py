"""The calls to Relay: their contents, their URL, and the cases that need no call."""

import json
from dataclasses import replace
from typing import Any

import pytest
import responses
from limits import parse

from payments.providers.base import NoOffer, NoOfferCode, Order, ProviderDown, Side, Wanted
from payments.providers.relay import client
from payments.providers.relay.client import RelayProvider
from tests.support.routing.offers import (
    DAI_HERE,
    HERE,
    MERCHANT,
    PAYER,
    THERE,
    USDC_HERE,
    USDC_THERE,
    WANTED,
)
from tests.support.routing.relay_asking import relay_at
from tests.support.routing.relay_world import (
    AMOUNT_OUT,
    API,
    FROM_NATIVE,
    FROM_SOLANA,
    KEY,
    quote,
)


def test_quote_request_has_exact_output_payer_and_recipient(
    answers: responses.RequestsMock, provider: RelayProvider
) -> None:
    answers.post(f"{API}/quote/v2", json=quote())
    provider.quote(WANTED)
    (call,) = answers.calls
    assert json.loads(call.request.body or b"") == {
        "user": PAYER,
        "recipient": MERCHANT,
        "refundTo": PAYER,
        "originChainId": HERE,
        "destinationChainId": THERE,
        "originCurrency": USDC_HERE,
        "destinationCurrency": USDC_THERE,
        "amount": str(AMOUNT_OUT),
        "tradeType": "EXACT_OUTPUT",
        "enableTrueExactOutput": False,
        "slippageTolerance": "50",
        "includeProtocolData": True,
        "explicitDeposit": True,
        "disableOriginSwaps": True,
        "usePermit": False,
    }
    assert call.request.headers["x-api-key"] == KEY
    assert KEY not in (call.request.url or "") + str(call.request.body)


def test_without_a_key_no_header_is_sent(answers: responses.RequestsMock) -> None:
    answers.post(f"{API}/quote/v2", json=quote())
    relay_at(key="").quote(WANTED)
    assert "x-api-key" not in answers.calls[0].request.headers


def test_quote_request_uses_relay_ids_for_native_and_solana(
    answers: responses.RequestsMock, provider: RelayProvider
) -> None:
    answers.post(f"{API}/quote/v2", json=quote(FROM_NATIVE))
    answers.post(f"{API}/quote/v2", json=quote(FROM_SOLANA))
    provider.quote(FROM_NATIVE)
    provider.quote(FROM_SOLANA)
    native, solana = (json.loads(call.request.body or b"") for call in answers.calls)
    assert native["originCurrency"] == "0x" + "0" * 40
    assert (solana["originChainId"], solana["originCurrency"]) == (792703809, FROM_SOLANA.source.token)
    sol = replace(FROM_SOLANA, source=replace(FROM_SOLANA.source, token=""))
    assert client._quote_request(sol)["originCurrency"] == "1" * 32


@pytest.mark.parametrize(
    "wanted",
    [
        replace(WANTED, target=Side(HERE, DAI_HERE, MERCHANT)),
        replace(WANTED, source=Side(59144, "", PAYER)),
        replace(WANTED, target=Side(31337, "", MERCHANT)),
    ],
    ids=["the same chain", "from a chain that is not in the table", "to one that is not"],
)
def test_what_relay_is_not_for_costs_no_call(wanted: Wanted, provider: RelayProvider) -> None:
    with responses.RequestsMock() as mock:
        with pytest.raises(NoOffer) as none:
            provider.quote(wanted)
        assert len(mock.calls) == 0
    assert none.value.code == NoOfferCode.NO_ROUTE


def test_quote_beyond_the_quota_is_not_requested(provider: RelayProvider, settings: Any) -> None:
    settings.ROUTING_QUOTE_LIMITS = {"relay": parse("2/hour")}
    with responses.RequestsMock() as mock:
        mock.post(f"{API}/quote/v2", json=quote())
        offers = [provider.quote(WANTED), provider.quote(WANTED)]
        with pytest.raises(ProviderDown) as down:
            provider.quote(WANTED)
        assert len(mock.calls) == len(offers)
    assert down.value.retry_after is not None


def test_an_order_of_preference_changes_nothing_here(provider: RelayProvider) -> None:
    assert provider.has_orders is False
    assert client._quote_request(WANTED) == client._quote_request(replace(WANTED, order=Order.FASTEST))
