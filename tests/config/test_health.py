"""`/healthz` and `/readyz`: alive, and able to work (contract 10)."""

import pytest
from django.test import Client
from pytest_django import Settings

from config.health import beat_heart


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
    assert after.json()["parts"] == {"database": True, "redis": True, "worker": True}


def test_the_details_are_for_those_who_may_read_them(client: Client, db: None, settings: Settings) -> None:
    assert "parts" not in client.get("/readyz", REMOTE_ADDR="203.0.113.9").json()
    settings.METRICS_TOKEN = "only-for-this-test"
    assert "parts" not in client.get("/readyz").json()
    allowed = client.get("/readyz", headers={"Authorization": "Bearer only-for-this-test"})
    assert "parts" in allowed.json()
