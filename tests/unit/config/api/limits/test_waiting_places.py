"""If too many threads are already waiting, each kind of call fails as if the other side were down."""

import time
from collections.abc import Callable, Iterator

import pytest
from django.http import HttpRequest, HttpResponse

from chains.client import ChainError
from chains.families.evm.client import EvmClient
from chains.models import Chain
from checkout.fan_out import query_all
from config.api.errors import ApiError
from config.api.limits import waiting
from config.api.limits.waiting import MAX_WAITING, AnsweringMiddleware
from merchants.models import Merchant
from payments.prices import querying
from payments.providers.base import ProviderDown
from payments.providers.http import JsonApi
from tests.support.rates.exchanges import Exchanges
from webhooks.dispatch.http_client import check_url
from webhooks.dispatch.testing import send_test_event
from webhooks.endpoints.configuration import Change, configure
from webhooks.event_types import EventType
from webhooks.models import Delivery

DEAD = "http://127.0.0.1:9"


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fill all waiting places."""
    monkeypatch.setattr(waiting, "_threads", threads := waiting._Threads())
    for number in range(MAX_WAITING):
        threads.enter(f"node {number}", 1, queues=False)
    return


def answering(do: Callable[[], object]) -> object:
    """Run this in a thread that handles a request."""
    found: list[object] = []

    def answer(_: HttpRequest) -> HttpResponse:
        found.append(do())
        return HttpResponse()

    AnsweringMiddleware(answer)(HttpRequest())
    return found[0]


def test_a_node_is_not_called_and_not_blamed(full: None) -> None:
    client = EvmClient((DEAD,), 1)
    with pytest.raises(ChainError, match="too many calls wait") as refused:
        answering(lambda: client.look_up([], with_finality=False))
    assert refused.value.retry_after == waiting.RETRY_AFTER_SECONDS
    assert {node.state for node in client.health()} == {"unasked"}
    with pytest.raises(ChainError, match="could not be reached"):  # a worker makes the call
        client.look_up([], with_finality=False)


def test_a_provider_is_not_called_and_its_circuit_stays_closed(full: None) -> None:
    api = JsonApi("lifi", DEAD)
    for _ in range(5):
        with pytest.raises(ProviderDown, match="too many calls wait") as refused:
            answering(lambda: api.get("/quote", {}))
        assert refused.value.retry_after == waiting.RETRY_AFTER_SECONDS
    with pytest.raises(ProviderDown, match="could not be reached"):
        api.get("/quote", {})


@pytest.mark.django_db
def test_rates_are_the_last_ones_for_ten_seconds(
    exchanges: Exchanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    querying.forget()
    first = querying.observations({"USDC"})
    assert first["USDC"]
    monkeypatch.setattr(querying, "SHARED_SECONDS", -1.0)
    monkeypatch.setattr(waiting, "MAX_WAITING", 0)
    asked = len(exchanges.asked)
    assert answering(lambda: querying.observations({"USDC", "EUR"})) == {"USDC": first["USDC"], "EUR": []}
    later = time.monotonic() + querying.LAST_SECONDS
    monkeypatch.setattr(querying.time, "monotonic", lambda: later)
    assert answering(lambda: querying.observations({"USDC"})) == {"USDC": []}
    assert len(exchanges.asked) == asked
    querying.forget()


def test_of_several_chains_none_is_asked(full: None) -> None:
    assert answering(lambda: query_all([Chain(pk=1)], lambda _: 1, within_seconds=1, about="balances")) == {}
    assert len(query_all([Chain(pk=1)], lambda _: 1, within_seconds=30, about="balances")) == 1


@pytest.mark.django_db
def test_a_test_event_is_not_sent(full: None, merchant: Merchant) -> None:
    configure(merchant, Change(url=DEAD))
    with pytest.raises(ApiError, match="Nothing was sent") as refused:
        answering(lambda: send_test_event(merchant, EventType.PAYMENT_SUCCEEDED))
    assert (refused.value.status_code, refused.value.problems[0].code) == (503, "service_unavailable")
    assert not Delivery.objects.exists()


def test_a_webhooks_host_name_is_resolved_when_it_is_called(
    full: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a name isn't resolved when it is saved, it is accepted.

    An IP address in place of a name is still checked.
    """
    asked: list[str] = []
    monkeypatch.setattr("webhooks.dispatch.http_client.system_resolver", asked.append)
    monkeypatch.setattr("django.conf.settings.WEBHOOK_ALLOW_PRIVATE", False)
    answering(lambda: check_url("https://slow.example/hook"))
    assert not asked
    with pytest.raises(ApiError, match="not on the public Internet"):
        answering(lambda: check_url("https://127.0.0.1/hook"))
