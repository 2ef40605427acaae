"""Whatever a provider does, a call to it ends in time, with valid JSON or an error."""

import gzip
import json
import logging
import threading
import time
from collections.abc import Callable
from decimal import Decimal

import pytest

from payments.providers.base import ProviderDown
from payments.providers.http import Answer, JsonApi
from tests.loopback import Behaviour, Exchange, Scripted, scripted

KEY = "a-secret-key"
WALLET = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"


def api_of(provider: Scripted) -> JsonApi:
    return JsonApi(
        "lifi", provider.url, headers={"x-lifi-api-key": KEY}, request_id_header="x-lifi-requestid"
    )


def answer_to(behave: Behaviour, **options: float) -> Answer:
    with scripted(behave, path="/v1") as provider:
        return api_of(provider).get("/quote", {"fromAddress": WALLET}, **options)  # type: ignore[arg-type]


def saying(text: str | bytes, status: int = 200, **headers: str) -> Behaviour:
    body = text.encode() if isinstance(text, str) else text
    return lambda exchange: exchange.send(status, body, **headers)


def test_numbers_are_read_exactly() -> None:
    body = answer_to(saying('{"whole": 12345678901234567890123456789, "part": 0.1, "tiny": 1e-30}')).body
    assert body == {
        "whole": 12345678901234567890123456789,
        "part": Decimal("0.1"),
        "tiny": Decimal("1e-30"),
    }
    assert not any(isinstance(value, float) for value in body.values())


def test_a_question_is_sent_as_it_was_put() -> None:
    with scripted(lambda exchange: exchange.reply({"heard": True}), path="/v1") as provider:
        api_of(provider).get("/quote/toAmount", {"toAmount": "10", "toToken": "a b&c"})
        api_of(provider).post("/quote/v2", {"amount": "10"})
    asked, posted = provider.heard
    assert (asked.method, asked.path, asked.query) == (
        "GET",
        "/v1/quote/toAmount",
        {"toAmount": "10", "toToken": "a b&c"},
    )
    assert (posted.method, posted.path, json.loads(posted.body)) == ("POST", "/v1/quote/v2", {"amount": "10"})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html>Bad gateway</html>",
        '{"amount": 1',
        '{"amount": NaN}',
        '{"amount": Infinity}',
        '{"amount": -Infinity}',
        '{"amount": "1", "amount": "2"}',
        '{"amount": ' + "9" * 5000 + "}",
        '{"amount": 1e99999999999999999999}',
        '{"deep": ' + "[" * 41 + "]" * 41 + "}",
        "[" * 200_000,
        b'{"name": "\xff"}',
        b"\xef\xbb\xbf{}",
    ],
)
def test_json_that_needs_a_lenient_parser_is_invalid(text: str | bytes) -> None:
    with pytest.raises(ProviderDown):
        answer_to(saying(text))


def test_nothing_of_one_customers_call_is_carried_into_anothers() -> None:
    with scripted(
        lambda exchange: exchange.reply({}, Set_Cookie="customer=1; Path=/"), path="/v1"
    ) as provider:
        api = api_of(provider)
        for _ in range(2):
            api.get("/quote", {})
        assert [heard.headers.get("cookie") for heard in provider.heard] == [None, None]


@pytest.mark.parametrize("status", [424, 500])
def test_a_failing_server_is_down(status: int) -> None:
    with pytest.raises(ProviderDown, match=str(status)) as down:
        # All responses of LI.FI contain the window of its rate limit. This is no sign of an outage.
        answer_to(saying("{}", status, ratelimit_reset="60"))
    assert down.value.retry_after is None


def test_a_server_under_repair_says_for_how_long() -> None:
    with pytest.raises(ProviderDown) as down:
        answer_to(saying("{}", 503, Retry_After="20"))
    assert down.value.retry_after == 20


def test_redirects_are_not_followed() -> None:
    with scripted(lambda exchange: exchange.reply({"lured": True}), path="/v1") as elsewhere:
        with pytest.raises(ProviderDown, match="302"):
            answer_to(saying("{}", 302, Location=elsewhere.url))
        assert elsewhere.heard == []


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry_After": "12"}, 12),
        ({"ratelimit_reset": "45"}, 45),
        ({"Retry_After": "12", "ratelimit_reset": "45"}, 12),
        ({"ratelimit_reset": "0"}, 1),
        ({"ratelimit_reset": "1790000000"}, 7200),
        ({"Retry_After": "Wed, 21 Oct 2026 07:28:00 GMT"}, 30),
        ({"Retry_After": "-5"}, 30),
        ({}, 30),
    ],
)
def test_a_rate_limit_says_when_to_come_back(headers: dict[str, str], wait: float) -> None:
    with pytest.raises(ProviderDown, match="rate limit") as down:
        answer_to(saying("{}", 429, **headers))
    assert down.value.retry_after == wait


def test_rejection_is_returned_with_its_body() -> None:
    answer = answer_to(saying('{"message": "No available quotes", "code": 1002}', 404))
    assert (answer.status, answer.body) == (404, {"message": "No available quotes", "code": 1002})
    assert answer_to(saying("Not Found", 404)).body is None


def test_silent_provider_takes_no_longer_than_its_timeout() -> None:
    done = threading.Event()
    began = time.monotonic()
    with scripted(lambda _: done.wait(20) and None, path="/v1") as provider:
        with pytest.raises(ProviderDown):
            api_of(provider).get("/quote", {}, seconds=0.1)
        elapsed = time.monotonic() - began
        done.set()
    assert elapsed < 2


@pytest.mark.parametrize("part", ["status line", "headers", "body"])
def test_one_that_trickles_costs_no_more_than_the_time_given(part: str) -> None:
    """Each byte arrives before the time limit of a single read."""
    done = threading.Event()

    def trickle(exchange: Exchange) -> None:
        before = {
            "status line": b"",
            "headers": b"HTTP/1.1 200 OK\r\nx-slow: ",
            "body": b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n",
        }
        exchange.write(before[part])
        while not done.wait(0.05):
            exchange.write(b"1")

    began = time.monotonic()
    with scripted(trickle, path="/v1") as provider:
        with pytest.raises(ProviderDown):
            api_of(provider).get("/quote", {}, seconds=0.2)
        elapsed = time.monotonic() - began
        done.set()
    assert elapsed < 2


def test_endless_response_is_cut_off() -> None:
    sent = 0

    def flood(exchange: Exchange) -> None:
        nonlocal sent
        exchange.send(200, b"[", length=50 * 1024 * 1024)
        while sent < 50 * 1024 * 1024:
            exchange.write(b" " * 65536)
            sent += 65536

    with pytest.raises(ProviderDown, match="more than"):
        answer_to(flood)
    assert sent < 20 * 1024 * 1024


def test_decompressed_response_is_limited() -> None:
    bomb = gzip.compress(b" " * 50 * 1024 * 1024)
    assert len(bomb) < 100_000
    with pytest.raises(ProviderDown, match="more than"):
        answer_to(saying(bomb, Content_Encoding="gzip"))


def break_off(exchange: Exchange) -> None:
    exchange.send(200, b'{"half": ', length=5000)
    exchange.hang_up()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nnot gzip at all",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\n\r\nnot zstd",
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 500 + b"\r\n{}",
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ],
)
def test_response_that_is_not_http_is_an_outage(sent: bytes) -> None:
    def say(exchange: Exchange) -> None:
        exchange.write(sent)
        exchange.hang_up()

    with pytest.raises(ProviderDown):
        answer_to(say)


def test_closed_port_is_an_outage() -> None:
    with scripted(lambda exchange: exchange.reply({}), path="/v1") as provider:
        api = api_of(provider)
    with pytest.raises(ProviderDown, match="could not be reached"):
        api.get("/quote", {}, seconds=2)


def test_calls_after_three_failures_fail_at_once() -> None:
    with scripted(saying("{}", 500), path="/v1") as provider:
        api = api_of(provider)
        for _ in range(3):
            with pytest.raises(ProviderDown, match="500"):
                api.get("/quote", {})
        with pytest.raises(ProviderDown, match="cooldown") as down:
            api.get("/quote", {})
        assert len(provider.heard) == 3
        assert down.value.retry_after is not None
        # A cooldown of one path doesn't affect another path.
        with pytest.raises(ProviderDown, match="500"):
            api.get("/status", {})


def test_what_fails_behind_a_provider_does_not_make_it_rest() -> None:
    with scripted(saying('{"code": 1008}', 424), path="/v1") as provider:
        api = api_of(provider)
        for _ in range(5):
            with pytest.raises(ProviderDown, match="424"):
                api.get("/quote", {})
        assert len(provider.heard) == 5


@pytest.mark.parametrize(
    "behave",
    [
        lambda exchange: exchange.reply({}, x_lifi_requestid="4b4adc22-e815"),
        saying("{}", 500),
        saying("nonsense"),
        break_off,
        saying("{}", 200, x_broken="a\r\n no header: b"),
    ],
)
def test_key_and_wallet_are_in_no_url_or_log(
    behave: Callable[[Exchange], None], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    said = ""
    with scripted(behave, path="/v1") as provider:
        try:
            api_of(provider).get("/quote", {"fromAddress": WALLET})
        except ProviderDown as down:
            said = str(down)
        (heard,) = provider.heard
    assert KEY not in heard.target
    assert heard.headers["x-lifi-api-key"] == KEY
    assert KEY not in caplog.text + said
    assert WALLET not in caplog.text + said


def test_request_id_for_the_providers_support_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="payments.providers.http")
    answer_to(lambda exchange: exchange.reply({}, x_lifi_requestid="4b4adc22-e815-4b8d-aea9-6068f7f2099b"))
    assert "lifi returned 200 for /quote" in caplog.text
    assert "4b4adc22-e815-4b8d-aea9-6068f7f2099b" in caplog.text
    caplog.clear()
    answer_to(lambda exchange: exchange.reply({}, x_lifi_requestid="0x8ba1 is <b>not</b> an id"))
    assert "<b>" not in caplog.text
