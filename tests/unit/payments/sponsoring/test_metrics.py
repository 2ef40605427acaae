"""Sponsored payments in `/metrics`."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from chains.models import Chain
from payments.models import GasAccount, PaymentRequest
from payments.sponsoring import metrics
from tests.support.payments.relays import SPONSOR, SPONSOR_KEY, new_authorization, new_relay

pytestmark = pytest.mark.django_db


def read(text: str, chain: Chain) -> dict[tuple[str, ...], float]:
    """Return the chain's samples about sponsored payments, by name and other labels."""
    return {
        (
            sample.name.removeprefix("quittance_sponsor_"),
            *(v for k, v in sample.labels.items() if k != "chain"),
        ): (sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("quittance_sponsor_") and sample.labels["chain"] == str(chain.pk)
    }


def test_gauges_show_balance_budget_and_what_waits(
    client: Client, sponsored: Chain, request_for: Callable[..., PaymentRequest]
) -> None:
    long_ago = timezone.now() - timedelta(minutes=20)
    GasAccount.objects.create(chain=sponsored, address=SPONSOR, balance=25 * 10**16, looked_at=long_ago)
    new_authorization(request_for(), signed_at=long_ago, cost=10**17, day=timezone.now().date())
    new_relay(new_authorization(request_for(), cost=0), created_at=long_ago)
    text = client.get("/metrics").content.decode()
    seen = read(text, sponsored)
    assert (seen["balance",], seen["budget",], seen["budget_left",]) == (0.25, 1.0, 0.9)
    assert 1200 <= seen["balance_age_seconds",] < 20_000  # the upper limit allows for a busy machine
    for state in ("unsent", "unmined"):
        assert seen["waiting", state] == 1
        assert 1200 <= seen["waiting_seconds", state] < 20_000  # the upper limit allows for a busy machine
    assert SPONSOR_KEY[2:] not in text


def test_chain_without_sponsoring_has_no_gauges(client: Client, chain: Chain) -> None:
    GasAccount.objects.create(chain=chain, address=SPONSOR, balance=10**18, looked_at=timezone.now())
    seen = read(client.get("/metrics").content.decode(), chain)
    assert not {name for name, *_ in seen} & {"balance", "budget", "budget_left", "waiting"}


def test_ended_relays_count_by_their_outcome_with_their_fees(client: Client, sponsored: Chain) -> None:
    before = read(client.get("/metrics").content.decode(), sponsored)
    metrics.count_sent(sponsored)
    metrics.count_ended(sponsored, succeeded=True, fee=10**15)
    metrics.count_ended(sponsored, succeeded=False, fee=2 * 10**15)
    metrics.count_ended(sponsored, succeeded=None, fee=None)
    after = read(client.get("/metrics").content.decode(), sponsored)
    for outcome in ("sent", "succeeded", "failed", "dropped"):
        assert after["relays_total", outcome] - before.get(("relays_total", outcome), 0) == 1
    assert after["fees_total",] - before.get(("fees_total",), 0) == pytest.approx(0.003)
