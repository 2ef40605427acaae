"""The `quittance` commands for refunds, webhooks and deliveries, with the real service."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import quittance
from quittance.cli.main import main

from demo.services.process import free_port
from payments.models import Refund

HOOK = f"http://127.0.0.1:{free_port()}/hooks"
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _environment(service: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUITTANCE_API_KEY", key)
    monkeypatch.setenv("QUITTANCE_BASE_URL", service)


def test_refund_is_created_listed_read_and_cancelled(
    client: quittance.Client, terms: Callable[..., dict[str, Any]], capsys: Capture
) -> None:
    made = client.payment_requests.create(**terms())
    client.sandbox.simulate(made.id, "paid")
    capsys.readouterr()
    assert main(["refunds", "create", made.id, "--amount", "0.5", "--reason", "Out of stock", "--json"]) == 0
    refund = json.loads(capsys.readouterr().out)
    assert (refund["payment_request"], refund["status"]) == (made.id, "requires_address")
    assert main(["refunds", "list", "--payment-request-id", made.id]) == 0
    assert refund["id"] in capsys.readouterr().out
    assert main(["refunds", "get", refund["id"]]) == 0
    assert refund["claim_url"] in capsys.readouterr().out
    assert main(["refunds", "cancel", refund["id"]]) == 0
    assert f"{refund['id']}: cancelled" in capsys.readouterr().out
    assert main(["refunds", "list", "--limit", "0"]) == 2


def test_rejected_refund_is_named_and_creates_nothing(
    client: quittance.Client, terms: Callable[..., dict[str, Any]], capsys: Capture
) -> None:
    made = client.payment_requests.create(**terms())
    assert main(["refunds", "create", made.id, "--amount", "1"]) == 1
    assert "quittance: " in capsys.readouterr().err
    assert not Refund.objects.exists()


def test_webhook_secret_is_shown_only_on_demand(client: quittance.Client, capsys: Capture) -> None:
    assert main(["webhooks", "get"]) == 0
    assert "No endpoint is set" in capsys.readouterr().out
    assert main(["webhooks", "set", HOOK, "--event", "payment.failed"]) == 0
    endpoint = client.webhooks.retrieve()
    assert (endpoint.url, endpoint.enabled_events) == (HOOK, ["payment.failed"])
    for options in ([], ["--json"]):
        assert main(["webhooks", "get", *options]) == 0
        shown = capsys.readouterr().out
        assert HOOK in shown
        assert str(endpoint.secret) not in shown
        assert main(["webhooks", "get", "--show-secret", *options]) == 0
        assert str(endpoint.secret) in capsys.readouterr().out
    assert main(["webhooks", "set", HOOK, "--disable"]) == 0
    assert client.webhooks.retrieve().is_enabled is False


def test_failed_test_event_exits_with_1_and_lists_its_delivery(
    client: quittance.Client, capsys: Capture
) -> None:
    client.webhooks.update(url=HOOK)
    assert main(["webhooks", "test"]) == 1
    assert "not delivered" in capsys.readouterr().out
    (delivery,) = client.deliveries.list()
    assert main(["deliveries", "list"]) == 0
    assert delivery.id in capsys.readouterr().out
    assert main(["deliveries", "get", delivery.id]) == 0
    assert delivery.event_id in capsys.readouterr().out
    assert main(["deliveries", "redeliver", delivery.id, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == delivery.id
    assert main(["deliveries", "redeliver-failed", "--since", delivery.created_at.isoformat()]) == 0
    assert "deliveries are sent again" in capsys.readouterr().out
