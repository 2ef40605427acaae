"""If LI.FI has no route, there is no offer, but a reason. If a call fails, that is an outage."""

import time
from typing import Any

import pytest
from django.test import override_settings
from limits import parse

from payments.providers.base import NoOffer, NoOfferCode, ProviderDown
from payments.providers.budget import quote_quotas
from payments.providers.lifi.client import CHAINS_KNOWN_SECONDS, LifiProvider
from tests.loopback import Exchange, scripted
from tests.support.routing.lifi_world import (
    ARBITRUM,
    BASE,
    KEY,
    WANTED,
    answering,
    quote,
    refusal,
    tool_error,
)

NO_QUOTE = "No available quotes"


def newer(*codes: str) -> dict[str, Any]:
    """Return the errors of a rejection in their newer format."""
    paths = [{"overallPath": f"42161:USDT-{code}", "subpaths": {"a": [tool_error(code)]}} for code in codes]
    return {"filteredOut": [{"overallPath": "x", "reason": "It was hidden."}], "failed": paths}


@pytest.mark.parametrize(
    ("codes", "reason"),
    [
        ([], NoOfferCode.NO_ROUTE),
        (["NO_POSSIBLE_ROUTE"], NoOfferCode.NO_ROUTE),
        (["INSUFFICIENT_LIQUIDITY"], NoOfferCode.NO_LIQUIDITY),
        (["AMOUNT_TOO_LOW"], NoOfferCode.AMOUNT_TOO_LOW),
        (["AMOUNT_TOO_HIGH"], NoOfferCode.AMOUNT_TOO_HIGH),
        (["FEES_HIGHER_THAN_AMOUNT"], NoOfferCode.FEES_TOO_HIGH),
        (["TOOL_TIMEOUT", "RPC_ERROR", "UNKNOWN_ERROR", "RATE_LIMIT_EXCEEDED"], NoOfferCode.NO_ROUTE),
        (["DIFFERENT_RECIPIENT_NOT_SUPPORTED", "CANNOT_GUARANTEE_MIN_AMOUNT"], NoOfferCode.NO_ROUTE),
        (["TOOL_SPECIFIC_ERROR", "A_CODE_OF_TOMORROW"], NoOfferCode.NO_ROUTE),
        (["NO_POSSIBLE_ROUTE", "INSUFFICIENT_LIQUIDITY", "AMOUNT_TOO_LOW"], NoOfferCode.AMOUNT_TOO_LOW),
    ],
)
def test_missing_quote_has_the_reason_of_its_tools(codes: list[str], reason: NoOfferCode) -> None:
    older = [tool_error(code) for code in codes]
    for errors in (older, newer(*codes)):
        with answering((404, refusal(1002, NO_QUOTE, errors=errors))) as lifi:
            with pytest.raises(NoOffer) as none:
                lifi.provider.quote(WANTED)
            assert none.value.code == reason
            assert len(lifi.asked) == 1


@pytest.mark.parametrize(
    "errors",
    [
        None,
        "AMOUNT_TOO_LOW",
        5,
        [None, 5, ["x"], {"code": 5}, {"code": ["AMOUNT_TOO_LOW"]}],
        {"failed": "all"},
        {"failed": [None, {"subpaths": None}, {"subpaths": ["a"]}, {"subpaths": {"a": "b", "c": [None]}}]},
    ],
)
def test_errors_that_make_no_sense_leave_the_plain_reason(errors: Any) -> None:
    with answering((404, refusal(1002, NO_QUOTE, errors=errors))) as lifi:
        with pytest.raises(NoOffer) as none:
            lifi.provider.quote(WANTED)
        assert none.value.code == NoOfferCode.NO_ROUTE


@pytest.mark.parametrize(
    ("http_status", "body"),
    [
        (400, refusal(1011, "Invalid fromAddress")),
        (400, {"message": "Invalid request"}),
        (404, {"message": "Unable to find a quote for the requested transfer"}),
        (404, refusal(1003, "Token not found")),
        (422, refusal(1004, "Not processable")),
        (400, refusal(1002, NO_QUOTE)),
    ],
)
def test_rejected_query_has_no_route(http_status: int, body: Any) -> None:
    with answering((http_status, body)) as lifi:
        with pytest.raises(NoOffer) as none:
            lifi.provider.quote(WANTED)
        assert none.value.code == NoOfferCode.NO_ROUTE
        assert len(lifi.asked) == 1


@pytest.mark.parametrize(
    ("http_status", "body"),
    [
        (400, refusal(1008, "Third party")),
        (404, refusal(1009, "Timeout")),
        (404, [1002]),
        (400, "Bad Request"),
        (418, {"message": "I'm a teapot"}),
    ],
)
def test_malformed_rejection_is_an_invalid_response(http_status: int, body: Any) -> None:
    with answering((http_status, body)) as lifi, pytest.raises(ProviderDown):
        lifi.provider.quote(WANTED)


@pytest.mark.parametrize("http_status", [401, 403])
def test_a_key_that_is_not_accepted_is_the_operators_to_hear_of(
    http_status: int, caplog: pytest.LogCaptureFixture
) -> None:
    with answering((http_status, refusal(1010, f"Unknown key {KEY}"))) as lifi:
        with pytest.raises(ProviderDown):
            lifi.provider.quote(WANTED)
        assert len(lifi.asked) == 1
    assert "does not accept this deployment's key" in caplog.text
    assert KEY not in caplog.text


def test_rate_limit_is_not_retried() -> None:
    limited = (429, refusal(1005, "Rate limit exceeded"))
    with answering(limited, ratelimit_reset="4000") as lifi:
        with pytest.raises(ProviderDown) as down:
            lifi.provider.quote(WANTED)
        assert down.value.retry_after == 4000
        assert len(lifi.asked) == 1
        with pytest.raises(ProviderDown):
            lifi.provider.quote(WANTED)
        assert len(lifi.asked) == 1


def test_each_call_counts_against_the_quota() -> None:
    limits = {"lifi": parse("1/hour")}
    with override_settings(ROUTING_QUOTE_LIMITS=limits), answering((500, {}), quote()) as lifi:
        with pytest.raises(ProviderDown, match="500"):
            lifi.provider.quote(WANTED)
        with pytest.raises(ProviderDown, match="quota"):
            lifi.provider.quote(WANTED)
    assert len(lifi.asked) == 1


def test_call_that_is_not_made_uses_no_quota() -> None:
    limits = {"lifi": parse("5/hour")}
    with override_settings(ROUTING_QUOTE_LIMITS=limits), answering(*[(500, {})] * 3) as lifi:
        for _ in range(13):
            with pytest.raises(ProviderDown, match="500|cooldown"):
                lifi.provider.quote(WANTED)
        assert list(quote_quotas()) == [("lifi", 5, 3)]
    assert len(lifi.asked) == 3


def test_old_list_of_chains_prevents_no_quote(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = {"/v1/chains": {"chains": [{"id": ARBITRUM}]}, "/v1/tokens": {"tokens": {}}}
    with scripted(lambda exchange: exchange.reply(lists.get(exchange.path, quote())), path="/v1") as server:
        provider = LifiProvider(server.url, KEY, "quittance")
        provider.tokens([ARBITRUM, BASE])
        later = time.monotonic() + CHAINS_KNOWN_SECONDS + 1
        monkeypatch.setattr("payments.providers.lifi.client.time.monotonic", lambda: later)
        assert provider.quote(WANTED).amount_in == 12_600_000


def test_a_chain_that_it_is_known_not_to_serve_costs_no_quote() -> None:
    def behave(exchange: Exchange) -> None:
        if exchange.path == "/v1/chains":
            exchange.reply({"chains": [{"id": ARBITRUM}]})
        elif exchange.path == "/v1/tokens":
            exchange.reply({"tokens": {}})
        else:
            exchange.reply(quote())

    with scripted(behave, path="/v1") as server:
        provider = LifiProvider(server.url, KEY, "quittance")
        assert provider.quote(WANTED).amount_in == 12_600_000
        provider.tokens([ARBITRUM, BASE])
        with pytest.raises(NoOffer) as none:
            provider.quote(WANTED)
        assert none.value.code == NoOfferCode.NO_ROUTE
        assert server.paths().count("/v1/quote/toAmount") == 1
