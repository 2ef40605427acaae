"""`/metrics` returns the figures that operators watch, only to authorised callers."""

import platform
import tomllib
from datetime import timedelta
from pathlib import Path
from urllib.request import urlopen

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from chains.models import Token
from config.observe.worker_metrics import worker_metrics
from demo.services.process import free_port
from merchants.mail.outbox import enqueue
from merchants.models import Mail, Merchant
from payments.models import PaymentRequest
from tests.processes import Process, eventually
from tests.support.payments.rows import new_payment
from tests.support.payments.world import make_request

pytestmark = pytest.mark.django_db


def read(text: str) -> dict[str, float]:
    """Return each sample's value, by its name and labels."""
    return {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_requests_are_counted_by_route_and_never_by_path(client: Client) -> None:
    client.get("/pay/no-such-code-1")
    client.get("/pay/no-such-code-2")
    text = client.get("/metrics").content.decode()
    assert "no-such-code" not in text
    name = (
        "quittance_http_requests_total"
        "[('method', 'GET'), ('route', 'pay/<str:shortcode>'), ('status', '404')]"
    )
    assert read(text)[name] >= 2


def test_version_is_that_of_the_project_in_web_and_workers(client: Client) -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    labels = [("python", platform.python_version()), ("version", project["version"])]
    name = f"quittance_build_info{labels}"
    assert read(client.get("/metrics").content.decode())[name] == 1
    assert read(worker_metrics().decode())[name] == 1


@pytest.mark.parametrize("path", ["/metrics", "/healthz"])
def test_monitoring_reaches_process_by_own_address_without_tls(settings: Settings, path: str) -> None:
    settings.BASE_URL, settings.ALLOWED_HOSTS = "https://pay.example.com", ["pay.example.com"]
    settings.SECURE_SSL_REDIRECT, settings.METRICS_TOKEN = True, "only-for-this-test"
    headers = {"Host": "10.1.2.3:8000", "Authorization": "Bearer only-for-this-test"}
    assert Client().get(path, headers=headers).status_code == 200
    assert Client().get("/api/public/chains", headers=headers).status_code == 400


def test_work_that_waits_shows_how_long_it_has_waited(
    client: Client, merchant: Merchant, usdc: Token
) -> None:
    request = make_request(merchant, usdc, "10", "0x" + "11" * 20)
    new_payment(
        request=request,
        chain=request.chain,
        transaction_hash="0x" + "ab" * 32,
        next_check_at=timezone.now() - timedelta(minutes=2),
    )
    PaymentRequest.objects.update(expiry_check_at=timezone.now() - timedelta(minutes=1))
    enqueue(merchant, Mail.RECEIPT, "customer@example.net", "Receipt", "Paid.")
    Mail.objects.update(created_at=timezone.now() - timedelta(minutes=4))
    seen = read(client.get("/metrics").content.decode())
    assert seen[f"quittance_payments_open[('chain', '{request.chain_id}')]"] == 1
    assert 120 <= seen["quittance_payments_overdue_seconds[]"] < 180
    assert 60 <= seen["quittance_expiry_overdue_seconds[]"] < 120
    assert 240 <= seen["quittance_mail_waiting_seconds[]"] < 300
    assert seen["quittance_deliveries_due[]"] == 0


def test_only_the_token_or_this_machine_may_read_them(client: Client, settings: Settings) -> None:
    assert client.get("/metrics", REMOTE_ADDR="203.0.113.9").status_code == 404
    settings.METRICS_TOKEN = "only-for-this-test"
    assert client.get("/metrics").status_code == 404
    for scheme in ("Bearer", "bearer", "BEARER "):
        allowed = client.get("/metrics", headers={"Authorization": f"{scheme} only-for-this-test"})
        assert allowed.status_code == 200, scheme
    for other in ("only-for-this-test", "Basic only-for-this-test", "Bearer only-for-this-tes", "Bearer"):
        assert client.get("/metrics", headers={"Authorization": other}).status_code == 404, other


@pytest.mark.django_db(transaction=True)
def test_all_web_processes_count_together(tmp_path: Path) -> None:
    port = str(free_port())
    web = Process(
        tmp_path / "web.log", "gunicorn", "--config", "config/gunicorn.py", PORT=port, WEB_CONCURRENCY="2"
    )
    try:
        address = f"http://127.0.0.1:{port}"
        eventually(lambda: _answers(f"{address}/healthz"), "the web process answered")
        for _ in range(20):
            assert _answers(f"{address}/healthz")
        text = urlopen(f"{address}/metrics").read().decode()
        name = "quittance_http_requests_total[('method', 'GET'), ('route', 'healthz'), ('status', '200')]"
        assert read(text)[name] >= 20
    finally:
        web.kill()


def _answers(url: str) -> bool:
    try:
        return bool(urlopen(url, timeout=5).status == 200)
    except OSError:
        return False
