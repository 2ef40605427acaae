"""A deployment made with the image's files and `manage.py setup` takes a payment. Doctor reports what is broken."""

import time
from collections.abc import Iterator

import certifi
import psycopg
import pytest
import redis
import requests
from cryptography.fernet import Fernet
from django.conf import settings
from quittance.webhooks import verify

from tests.chain import LocalChain
from tests.fault_proxy import Exchange
from tests.integration.chaos.customers import UNITS, Crowd
from tests.processes import REPOSITORY
from tests.support.operations.deployment import PROCESSES, Deployment, Found, small_disk
from tests.support.operations.tls_proxy import passing_on

ALLOWED = {"settings": {"ALLOW_HTTP_URLS": "warning", "WEBHOOK_ALLOW_PRIVATE": "warning"}}
BROKEN = {
    **ALLOWED,
    "database": {"migrations": "failed"},
    "redis": {"eviction policy": "warning"},
    "processes": {"worker": "failed"},
    "partitions": {"partitions": "failed"},
    "queues": {"payments": "failed", "expiry": "failed", "discovery": "failed"},
    "deliveries": {"deliveries": "failed"},
    "secrets": {"ENCRYPTION_KEYS": "failed"},
    "nodes": {"Local Chain, 127.0.0.1": "failed"},
    "switches": {"refunds": "warning"},
    "sponsoring": {"sponsor on Local Chain": "failed"},
    "routing": {"LI.FI": "failed"},
    "rates": {"kraken": "warning", "rate of USDC": "failed"},
    "egress": {"egress": "failed"},
    "mail": {"EMAIL_URL": "failed"},
    "traces": {"collector": "warning"},
    "outside": {"BASE_URL": "failed", "EVENTS_URL": "warning"},
    "backups": {"backups": "failed"},
}
_HOUR_AGO = "now() - interval '1 hour'"
_NEWEST_MIGRATION = max((REPOSITORY / "payments/migrations").glob("0*.py")).stem
# Statements that damage the data. Each changes at least one row.
_SPOIL = (
    f"UPDATE payments_lookup SET next_check_at = {_HOUR_AGO} WHERE next_check_at IS NOT NULL",
    f"UPDATE payments_paymentrequest SET expiry_check_at = {_HOUR_AGO} WHERE status = 'active'",
    "INSERT INTO payments_merchantcursor (chain_id, merchant_id, created_at, is_alone)"
    f" SELECT chain_id, merchant_id, {_HOUR_AGO}, false FROM payments_paymentrequest WHERE status = 'active'"
    f" ON CONFLICT (chain_id, merchant_id) DO UPDATE SET created_at = {_HOUR_AGO}, searched_at = {_HOUR_AGO}",
    f"UPDATE webhooks_delivery SET status = 'pending', due_at = {_HOUR_AGO}, finished_at = NULL",
    "INSERT INTO chains_switch (name, off_at, actor, reason) VALUES ('refunds', now(), 'olga', 'a test')",
    """UPDATE chains_token SET "authorization" = '{"type": "eip3009", "name": "USD Coin", "version": "2"}'"""
    " WHERE symbol = 'USDC'",
    f"DELETE FROM django_migrations WHERE app = 'payments' AND name = '{_NEWEST_MIGRATION}'",
)
_PARTITIONS = (
    "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'webhooks_eventbody'::regclass"
)


def _lagging(exchange: Exchange) -> None:
    """Respond like a node that is 50 blocks behind."""
    exchange.reply(
        [
            {**response, "result": hex(int(response["result"], 16) - 50)}
            if call["method"] == "eth_blockNumber"
            else response
            for call, response in zip(exchange.questions, exchange.truth(), strict=True)
        ]
    )


def _of_another_chain(exchange: Exchange) -> None:
    exchange.reply(
        [
            {**response, "result": hex(424242)} if call["method"] == "eth_chainId" else response
            for call, response in zip(exchange.questions, exchange.truth(), strict=True)
        ]
    )


@pytest.fixture(scope="module")
def deployment(local_chain: LocalChain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    deployment = Deployment(tmp_path_factory.mktemp("deployment"), local_chain)
    try:
        yield deployment
    finally:
        deployment.stop()


@pytest.fixture(scope="module")
def shop(deployment: Deployment) -> Iterator[Crowd]:
    """A merchant and customers, who call the service through the proxy. All processes are running."""
    deployment.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REQUESTS_CA_BUNDLE", str(deployment.certificate))
        shop = Crowd(deployment.url, deployment.key, deployment.chain, 2, late=0)
        shop.find_token()
        yield shop


def wrong(findings: list[Found]) -> dict[str, dict[str, str]]:
    """Return the worst level of each finding that isn't OK, by check and subject. Ignores this machine's disk."""
    bad: dict[str, dict[str, str]] = {}
    for each in findings:
        if each["level"] != "ok" and each["check"] != "disk":
            of_check = bad.setdefault(each["check"], {})
            of_check[each["subject"]] = min(each["level"], of_check.get(each["subject"], "warning"))
    return bad


def test_setup_prepares_the_image_and_doctor_names_next_steps(
    deployment: Deployment,
) -> None:
    done = deployment.set_up
    assert done.returncode == 0, done.stderr
    assert (deployment.folder / "staticfiles/staticfiles.json").exists()
    report = " ".join(done.stdout.split())
    assert "FAILED worker: no worker responds" in report
    assert "FAILED beat: has sent no task" in report
    assert "the proxy finds no web process" in report
    assert f"FAILED backups: {deployment.backups} has no backup" in report
    assert "4 failed" in report
    assert "Still to do: - Create your account: manage.py createsuperuser." in report


def test_payment_completes_and_its_signed_webhook_arrives(deployment: Deployment, shop: Crowd) -> None:
    hook = {"url": deployment.receiver.url}
    headers = {"X-API-Key": deployment.key}
    configured = requests.put(f"{deployment.url}/api/webhooks", json=hook, headers=headers, timeout=30)
    customer = shop.customers[0]
    shop.order(customer)
    shop.send(customer)
    shop.submit(customer)
    received = deployment.receiver.arrivals.get(timeout=60)
    event = verify(received.body, received.signature, configured.json()["secret"])
    assert event.type == "payment.succeeded"
    url = f"{deployment.url}/api/payment-requests/{customer.request_id}"
    paid = requests.get(url, headers=headers, timeout=30).json()
    assert (paid["status"], paid["amount_paid"]["raw"]) == ("completed", str(UNITS))


def test_prometheus_reads_metrics_beside_the_proxy(deployment: Deployment, shop: Crowd) -> None:
    headers = {"Authorization": f"Bearer {deployment.settings['METRICS_TOKEN']}", "Host": "web:8000"}
    response = requests.get(
        f"{deployment.web_url}/metrics", headers=headers, timeout=30, allow_redirects=False
    )
    assert response.status_code == 200
    assert "quittance_worker_heartbeat_age_seconds " in response.text
    del headers["Authorization"]
    assert requests.get(f"{deployment.web_url}/metrics", headers=headers, timeout=30).status_code == 404


def test_read_only_file_system_causes_no_logged_error(deployment: Deployment, shop: Crowd) -> None:
    logs = {name: (deployment.logs / f"{name}.log").read_text() for name in PROCESSES}
    assert "Booting worker" in logs["web"]
    assert "startup complete" in logs["events"]
    assert "/healthz" not in logs["events"], "--no-access-log was undone"
    errors = [line for log in logs.values() for line in log.splitlines() if " ERROR " in line]
    assert [line for line in errors if not line.endswith("/readyz")] == []  # from before a worker started


def test_doctor_names_missing_settings_and_static_files(deployment: Deployment, shop: Crowd) -> None:
    manifest = deployment.folder / "staticfiles/staticfiles.json"
    kept = manifest.rename(manifest.with_suffix(".kept"))
    try:
        code, findings = deployment.doctor(METRICS_TOKEN="")
    finally:
        kept.rename(manifest)
    left_out = {"METRICS_TOKEN": "warning", "static files": "warning"}
    assert (code, wrong(findings)) == (0, {"settings": {**ALLOWED["settings"], **left_out}})


def test_doctor_names_each_broken_part(deployment: Deployment, shop: Crowd) -> None:
    deployment.chain.mine(60)
    # Without workers, late work stays late.
    deployment.stop_processes("worker 1", "worker 2", "events")
    late = shop.customers[1]
    shop.order(late)
    late.transaction_hash = "0x" + "ab" * 32
    shop.submit(late)
    with psycopg.connect(deployment.database.url) as database:
        for statement in _SPOIL:
            assert database.execute(statement.encode()).rowcount, statement
        for (partition,) in database.execute(_PARTITIONS).fetchall():
            database.execute(f"DROP TABLE {partition}".encode())
    redis.Redis.from_url(deployment.redis.url).config_set("maxmemory-policy", "allkeys-lru")
    deployment.nodes[1].break_with(_lagging)
    deployment.nodes[2].break_with(_of_another_chain)
    deployment.provider_status = 500
    deployment.exchanges.broken["kraken"] = (502, b"")
    deployment.proxy_sets = passing_on
    deployment.stop_mail_server()
    deployment.stop_receiver()
    deployment.age_backups(days=2)
    disk = small_disk()
    lost_key = {"ENCRYPTION_KEYS": Fernet.generate_key().decode()}
    no_collector = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
    poor = {"SPONSOR_EVM_KEY": "11" * 32, "SPONSOR_DAILY_BUDGET": f"{deployment.chain.chain_id}:1"}
    code, findings = deployment.doctor(wrapper=disk or (), **lost_key, **no_collector, **poor)
    assert (code, wrong(findings)) == (1, BROKEN)
    said = " ".join(each["summary"] for each in findings if each["check"] == "nodes")
    assert "50 blocks behind" in said
    assert "serves a different chain" in said
    assert disk is None or ("temporary files", "failed") in {
        (each["subject"], each["level"]) for each in findings
    }


def test_doctor_names_stopped_servers_and_continues(deployment: Deployment, shop: Crowd) -> None:
    deployment.stop_processes("beat")
    redis.Redis.from_url(deployment.redis.url).flushdb()  # contains beat's heartbeat
    deployment.redis.stop()
    deployment.database.stop()
    began = time.monotonic()
    code, findings = deployment.doctor(SSL_CERT_FILE=certifi.where())
    assert time.monotonic() - began < 60, "each check waited for a connection"
    bad = wrong(findings)
    assert code == 1
    assert bad["database"] == {"PostgreSQL": "failed"}
    assert bad["redis"] == {"Redis": "failed"}
    assert bad["processes"] == {"worker and beat": "failed"}
    outside = [each["summary"] for each in findings if each["check"] == "outside"]
    assert all("the certificate is invalid" in summary for summary in outside)
    assert bad["outside"] == {"BASE_URL": "failed", "EVENTS_URL": "failed"}
    assert {each["check"] for each in findings} == set(settings.DOCTOR_CHECKS)


def test_doctor_stops_at_invalid_settings(deployment: Deployment) -> None:
    code, findings = deployment.doctor(LOG_LEVEL="LOUD", SECRET_KEY="short")
    assert (code, wrong(findings)) == (2, {"settings": {"LOG_LEVEL": "failed", "SECRET_KEY": "failed"}})
