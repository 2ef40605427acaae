"""`/healthz` reports that the process is running, `/readyz` that it can work."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from chains.models import ChainStatus, Token
from config.health import beat_heart
from tests.support.operations.read_only import read_only


@pytest.fixture
def client() -> Client:
    return Client()


def test_it_is_alive_whatever_else_is_not(client: Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}


def test_it_is_ready_once_a_worker_has_worked(client: Client, db: None) -> None:
    before = client.get("/readyz")
    assert (before.status_code, before.json()["parts"]["worker"]) == (503, False)
    beat_heart()
    after = client.get("/readyz")
    assert (after.status_code, after.json()["status"]) == (200, "ok")
    assert after.json()["parts"] == {"database": True, "redis": True, "worker": True, "partitions": True}


def test_readiness_lists_chains_and_stays_ok_with_one_down(client: Client, usdc: Token) -> None:
    beat_heart()
    now = timezone.now()
    ChainStatus.objects.create(
        chain=usdc.chain,
        looked_at=now,
        head=1234,
        head_since=now - timedelta(seconds=7),
        nodes=[
            {"host": "node.example", "state": "failing", "head": None, "behind": None, "error": "refused"}
        ],
    )
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")
    told = answer.json()["chains"][str(usdc.chain_id)]
    assert (told["state"], told["head"], told["lag_seconds"]) == ("down", 1234, 7.0)
    assert told["nodes"] == [{"host": "node.example", "state": "failing", "behind": None}]
    metrics = client.get("/metrics").content.decode()
    assert f'quittance_chain_lag_seconds{{chain="{usdc.chain_id}"}} 7.0' in metrics
    assert f'quittance_chain_nodes{{chain="{usdc.chain_id}",state="failing"}} 1.0' in metrics


@pytest.mark.django_db(transaction=True)
def test_read_only_database_is_in_the_details_and_stays_ready(client: Client) -> None:
    # Connections from a test that demoted the primary may still be able to write. Close them.
    connection.close()
    connection.close_pool()
    beat_heart()
    assert client.get("/readyz").json()["database_is_read_only"] is False
    with read_only(**connection.get_connection_params()):
        response = client.get("/readyz")
    assert (response.status_code, response.json()["database_is_read_only"]) == (200, True)


def test_the_details_are_for_those_who_may_read_them(client: Client, db: None, settings: Settings) -> None:
    assert "parts" not in client.get("/readyz", REMOTE_ADDR="203.0.113.9").json()
    assert "parts" in client.get("/readyz").json()
    through_a_proxy_here = client.get("/readyz", headers={"X-Forwarded-For": "127.0.0.1"})
    assert "parts" not in through_a_proxy_here.json()
    settings.METRICS_TOKEN = "only-for-this-test"
    assert "parts" not in client.get("/readyz").json()
    allowed = client.get("/readyz", headers={"Authorization": "Bearer only-for-this-test"})
    assert "parts" in allowed.json()
