"""Each alert fires for a fault of the product.

Prometheus' own tool evaluates what /metrics returned during the fault.
"""

import json
import re
import time
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from django.utils import timezone
from limits import RateLimitItemPerHour

from chains.health import check_chains
from chains.models import Chain, ChainStatus, Token
from config.celery import app
from config.health import beat_heart
from config.observe.outside_calls import Kind, measured
from config.observe.worker_metrics import worker_metrics
from demo.services.process import free_port
from merchants.mail.outbox import enqueue
from merchants.models import Mail, Merchant
from merchants.switching import switch_off
from payments.api import views
from payments.models import DiscoveryCursor, GasAccount, Lookup, MerchantCursor, Payment, PaymentRequest
from payments.providers.budget import spend_quote
from payments.requests.transitions import move_payment
from tests.chain import LocalChain
from tests.conftest import Api
from tests.support.observe import promtool
from tests.support.observe.promtool import FOLDER, alert_names, firing
from tests.support.payments.relays import SPONSOR, SPONSOR_KEY, new_authorization, new_relay
from tests.support.payments.rows import new_payment
from tests.support.payments.world import make_request
from tests.support.webhooks.delivering import deliver_next
from tests.support.webhooks.receiver import running_receiver
from webhooks.endpoints.configuration import Change, configure
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db(transaction=True)

RECIPIENT = "0x" + "11" * 20


def metrics() -> str:
    """The metrics of the web process and a worker. Here, both are in this process."""
    return Client().get("/metrics").content.decode()


@pytest.fixture
def healthy(chain: Chain) -> None:
    """A worker with a heartbeat, and a chain whose node responds."""
    beat_heart()
    check_chains()


@pytest.fixture
def during(healthy: None, tmp_path: Path) -> Callable[[Callable[[], None]], set[str]]:
    """Return a function that makes a fault and returns the alerts that fire because of it."""

    def alerts(fault: Callable[[], None]) -> set[str]:
        before = metrics()
        fault()
        return firing(before, metrics(), tmp_path)

    return alerts


During = Callable[[Callable[[], None]], set[str]]


def test_alert_rules_pass_their_own_tests() -> None:
    done = promtool.run("test", "rules", "alerts.test.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_alert_fires_while_all_is_well(
    during: During, api: Api, order: Callable[..., dict[str, Any]]
) -> None:
    def work() -> None:
        for _ in range(5):
            assert api.post("/api/payment-requests", order()).status_code == 201

    assert during(work) == set()


def test_dead_worker_fires_workers_stopped(during: During) -> None:
    assert during(lambda: cache.clear()) == {"WorkersStopped"}


def test_unchecked_payment_fires_verification_late(during: During, merchant: Merchant, usdc: Token) -> None:
    def leave() -> None:
        request = make_request(merchant, usdc, "10", RECIPIENT)
        due = timezone.now() - timedelta(minutes=5)
        new_payment(
            request=request, chain=request.chain, transaction_hash="0x" + "ab" * 32, next_check_at=due
        )

    assert during(leave) == {"VerificationLate"}


def test_unexpired_request_fires_expiry_late(during: During, merchant: Merchant, usdc: Token) -> None:
    def leave() -> None:
        make_request(merchant, usdc, "10", RECIPIENT)
        PaymentRequest.objects.update(expiry_check_at=timezone.now() - timedelta(minutes=10))

    assert during(leave) == {"ExpiryLate"}


def test_waiting_mail_fires_mails_late(during: During, merchant: Merchant) -> None:
    def leave() -> None:
        enqueue(merchant, Mail.RECEIPT, "customer@example.com", "Your receipt", "Paid.")
        Mail.objects.update(created_at=timezone.now() - timedelta(minutes=20))

    assert during(leave) == {"MailsLate"}


def test_waiting_delivery_fires_deliveries_late(
    during: During, api: Api, order: Callable[..., dict[str, Any]]
) -> None:
    api.put("/api/webhooks", {"url": f"http://127.0.0.1:{free_port()}/"})

    def leave() -> None:
        request = api.post("/api/payment-requests", order()).json()
        api.post(f"/api/test/payment-requests/{request['id']}/simulate", {"outcome": "paid"})
        Delivery.objects.update(due_at=timezone.now() - timedelta(minutes=5))

    assert during(leave) == {"DeliveriesLate"}


def test_late_attempts_fire_attempts_late(
    during: During, api: Api, merchant: Merchant, order: Callable[..., dict[str, Any]]
) -> None:
    with running_receiver() as receiver:
        configure(merchant, Change(url=receiver.url))

        def deliver() -> None:
            request = api.post("/api/payment-requests", order()).json()
            api.post(f"/api/test/payment-requests/{request['id']}/simulate", {"outcome": "paid"})
            Delivery.objects.update(due_at=timezone.now() - timedelta(seconds=20))
            assert deliver_next()

        assert during(deliver) == {"AttemptsLate"}


def test_failing_calls_fire_their_alerts(
    during: During, api: Api, order: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("a fault of ours")

    def call() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(views, "create_request", broken)
            assert api.post("/api/payment-requests", order()).status_code == 500

    assert during(call) == {"CreationFails", "ServerErrors"}


def test_slow_calls_fire_creation_slow(
    during: During, api: Api, order: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = views.create_request

    def slow(*given: Any, **named: Any) -> Any:
        time.sleep(0.6)
        return real(*given, **named)

    def call() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(views, "create_request", slow)
            assert api.post("/api/payment-requests", order()).status_code == 201

    assert during(call) == {"CreationSlow"}


def test_chain_without_nodes_fires_chain_down(during: During, chain: Chain) -> None:
    def cut() -> None:
        Chain.objects.filter(pk=chain.pk).update(rpc_urls=[f"http://127.0.0.1:{free_port()}"])
        check_chains()

    assert during(cut) == {"ChainDown"}


def test_chain_without_a_quorum_fires_chain_down(
    during: During, chain: Chain, local_chain: LocalChain
) -> None:
    def cut() -> None:
        dead = [f"http://127.0.0.1:{free_port()}" for _ in range(2)]
        Chain.objects.filter(pk=chain.pk).update(rpc_urls=[local_chain.url, *dead])
        check_chains()

    assert during(cut) == {"ChainDown"}


def test_kill_switch_fires_switched_off(during: During) -> None:
    assert during(lambda: switch_off("swaps", reason="", request=None) and None) == {"SwitchedOff"}


def test_chain_without_a_new_block_fires_chain_stuck(during: During) -> None:
    def stall() -> None:
        ChainStatus.objects.update(head_since=timezone.now() - timedelta(minutes=10))

    assert during(stall) == {"ChainStuck"}


def test_still_tag_fires_chain_not_finalizing(during: During, chain: Chain) -> None:
    def stall() -> None:
        Chain.objects.filter(pk=chain.pk).update(confirmations="finalized")
        check_chains()
        ChainStatus.objects.update(finality_since=timezone.now() - timedelta(minutes=30))

    assert during(stall) == {"ChainNotFinalizing"}


def test_unchecked_nodes_fire_chain_unchecked(during: During) -> None:
    def leave() -> None:
        ChainStatus.objects.update(looked_at=timezone.now() - timedelta(minutes=10))

    assert during(leave) >= {"ChainUnchecked"}


def test_node_of_another_chain_fires_an_alert(during: During, chain: Chain, local_chain: LocalChain) -> None:
    def swap() -> None:
        other = Chain.objects.create(
            id=chain.pk + 1,
            name="Other",
            chain_type="evm",
            native_symbol="ETH",
            rpc_urls=[local_chain.url],
        )
        check_chains()
        assert ChainStatus.objects.get(chain=other).nodes[0]["state"] == "wrong_chain"

    assert during(swap) >= {"NodeContradicted"}


def test_late_search_fires_discovery_late(during: During, chain: Chain, merchant: Merchant) -> None:
    def leave() -> None:
        DiscoveryCursor.objects.create(chain=chain, watches=3)
        long_ago = timezone.now() - timedelta(minutes=10)
        MerchantCursor.objects.create(
            chain=chain, merchant=merchant, searched_at=long_ago, created_at=long_ago
        )

    assert during(leave) == {"DiscoveryLate"}


@pytest.fixture
def sponsored(chain: Chain, settings: Any) -> Chain:
    settings.SPONSOR_KEYS = {"evm": SPONSOR_KEY}
    settings.SPONSOR_DAILY_BUDGET = {chain.pk: Decimal(1)}
    GasAccount.objects.create(chain=chain, address=SPONSOR, balance=10**18, looked_at=timezone.now())
    return chain


def test_relay_in_no_block_fires_relay_stuck(
    during: During, sponsored: Chain, merchant: Merchant, usdc: Token
) -> None:
    def leave() -> None:
        authorization = new_authorization(make_request(merchant, usdc, "10", RECIPIENT))
        new_relay(authorization, created_at=timezone.now() - timedelta(minutes=10))
        Lookup.objects.update(next_check_at=None)

    assert during(leave) == {"RelayStuck"}


def test_poor_sponsor_fires_sponsor_balance_low(during: During, sponsored: Chain) -> None:
    assert during(lambda: GasAccount.objects.update(balance=9 * 10**17) and None) == {"SponsorBalanceLow"}


def test_used_up_budget_fires_sponsor_budget_used(
    during: During, sponsored: Chain, merchant: Merchant, usdc: Token
) -> None:
    def spend() -> None:
        request = make_request(merchant, usdc, "10", RECIPIENT)
        new_authorization(request, status="completed", block_number=1, cost=91 * 10**16)

    assert during(spend) == {"SponsorBudgetUsed"}


def test_disabled_endpoint_fires_endpoint_disabled(during: During, merchant: Merchant) -> None:
    def disable() -> None:
        configure(merchant, Change(url="http://127.0.0.1:9/"))
        Endpoint.objects.update(is_enabled=False, disabled_reason="too many failures")

    assert during(disable) == {"EndpointDisabled"}


def test_failing_tasks_fire_tasks_fail(during: During) -> None:
    import config.observe.tasks  # noqa: F401 - counts tasks, as in a worker

    @app.task(name="tests.fails")  # type: ignore[untyped-decorator]
    def fails() -> None:
        raise RuntimeError("a fault of ours")

    assert during(lambda: fails.apply()) == {"TasksFail"}
    assert b'quittance_tasks_total{state="FAILURE",task="tests.fails"}' in worker_metrics()


def test_failing_payments_fire_payments_fail(during: During, merchant: Merchant, usdc: Token) -> None:
    def fail() -> None:
        for number in range(3):
            request = make_request(merchant, usdc, "10", RECIPIENT)
            payment = new_payment(
                request=request,
                chain=request.chain,
                transaction_hash=f"0x{number:064x}",
                next_check_at=timezone.now(),
            )
            failed = {"failure_code": "transaction_not_found", "failed_at": timezone.now()}
            with transaction.atomic():
                assert move_payment(payment, Payment.Status.FAILED, actor="test", **failed)

    assert during(fail) == {"PaymentsFail"}


def test_calls_over_a_limit_fire_clients_limited(during: During, api: Api, settings: Any) -> None:
    def loop() -> None:
        settings.RATE_LIMIT_API = RateLimitItemPerHour(1)
        statuses = [api.get("/api/events").status_code for _ in range(5)]
        assert statuses == [200, *[429] * 4]

    assert during(loop) == {"ClientsLimited"}


def test_node_over_its_plan_fires_outside_limited(during: During) -> None:
    def limit() -> None:
        with measured(Kind.NODE, "rpc.example") as call:
            call.responded(429)

    assert during(limit) == {"OutsideLimited"}


def test_used_up_quota_fires_routing_quota_used(during: During, settings: Any) -> None:
    def quote() -> None:
        settings.ROUTING_QUOTE_LIMITS = {"lifi": RateLimitItemPerHour(10)}
        for _ in range(9):
            spend_quote("lifi")

    assert during(quote) == {"RoutingQuotaUsed"}


# This alert uses Prometheus' own metric, which says whether a target responded.
_OWN_TEST = {"WebDown"}


def test_each_alert_has_a_fault_that_fires_it() -> None:
    fired = set(re.findall(r'"([A-Z]\w+)"', Path(__file__).read_text()))
    assert set(alert_names()) <= fired


NAME = re.compile(r"\bquittance_\w+")
SUFFIXES = ("_bucket", "_count", "_sum", "_total", "_created")


@pytest.mark.parametrize("file", ["alerts.yml", "dashboard.json"])
def test_each_named_metric_is_in_the_output(file: str, healthy: None) -> None:
    import config.observe.tasks  # noqa: F401 - counts tasks, as in a worker

    text = metrics() + worker_metrics().decode()
    returned = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    named = set(NAME.findall((FOLDER / file).read_text())) - {"quittance_web", "quittance_worker"}
    assert len(named) > 10
    for name in named:
        plain = {name} | {name.removesuffix(suffix) for suffix in SUFFIXES} | {f"{name}_total"}
        assert plain & returned, name


def test_dashboard_queries_only_existing_rules() -> None:
    recorded = set(re.findall(r"record: (\S+)", (FOLDER / "alerts.yml").read_text()))
    text = (FOLDER / "dashboard.json").read_text()
    assert set(re.findall(r"quittance:\w+:\w+", text)) <= recorded
    panels = json.loads(text)["panels"]
    assert all(panel["targets"] for panel in panels if panel["type"] != "row")


def test_each_alert_has_its_runbook() -> None:
    page = (FOLDER.parents[1] / "docs" / "observability.md").read_text()
    assert re.findall(r"^### (\w+)$", page, re.MULTILINE) == alert_names()
    assert set(re.findall(r"runbook: docs/observability.md#(\w+)", (FOLDER / "alerts.yml").read_text())) == {
        name.lower() for name in alert_names()
    }
