"""The log has each issued request id, with the call and its status, but without its query."""

import logging
from pathlib import Path

import pytest
import requests
from django.test import Client

from config.logs import _without_request_secrets, redact
from tests.processes import eventually
from tests.support.api.served import Service

ID = "01a1fd92-caa6-7393-afe5-964ec9235339"


def test_each_request_leaves_one_line(db: None, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="config.api.request_id"):
        response = Client().get("/api/public/chains?key=not-for-a-log", headers={"X-Request-Id": "mine-42"})
    (record,) = [record for record in caplog.records if record.name == "config.api.request_id"]
    assert response["X-Request-Id"] == "mine-42"
    assert record.getMessage().startswith("GET /api/public/chains 200 ")
    assert "not-for-a-log" not in record.getMessage()


@pytest.mark.parametrize(
    ("path", "masked"),
    [
        ("/pay/7hRkWm2QxT9c", "/pay/7hRk[redacted]"),
        ("/pay/7hRkWm2QxT9c/receipt", "/pay/7hRk[redacted]/receipt"),
        (
            "/pay/7hRkWm2QxT9c/by-hand/proof/rt_abcdefgh/sent",
            "/pay/7hRk[redacted]/by-hand/proof/rt_a[redacted]/sent",
        ),
        ("/pay/abc", "/pay/abc[redacted]"),
        ("/refunds/Vn4KpJ8sLd3Y", "/refunds/Vn4K[redacted]"),
        ("/notices/WzEsInNpZ25faW4iXQ:1w:abc", "/notices/WzEs[redacted]"),
        ("/refunds/Vn4KpJ8sLd3Y/sign/c2lnbmVk", "/refunds/Vn4K[redacted]/sign/c2ln[redacted]"),
        (f"/api/public/payment-requests/{ID}", "/api/public/payment-requests/01a1fd92-caa6[redacted]"),
        (
            f"/api/public/payment-requests/{ID}/events",
            "/api/public/payment-requests/01a1fd92-caa6[redacted]/events",
        ),
        (
            "/api/public/payment-requests/7hRkWm2QxT9c/routes",
            "/api/public/payment-requests/7hRk[redacted]/routes",
        ),
        (
            "https://pay.example.com/pay/7hRkWm2QxT9c?theme=x",
            "https://pay.example.com/pay/7hRk[redacted]?theme=x",
        ),
    ],
)
def test_codes_in_customers_paths_are_masked(path: str, masked: str) -> None:
    assert redact(f'"GET {path} HTTP/1.1"') == f'"GET {masked} HTTP/1.1"'
    assert redact(masked) == masked


@pytest.mark.parametrize(
    "path",
    [f"/api/payment-requests/{ID}", "/api/refunds/rf_abcdefghijkl", "/api/public/chains", "/admin/payments/"],
)
def test_paths_that_need_credentials_stay_whole(path: str) -> None:
    assert redact(f"GET {path} 200 3 ms") == f"GET {path} 200 3 ms"


def test_web_process_logs_no_code_of_a_customers_path(db: None, tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    paths = ("/pay/7hRkWm2QxT9c", "/refunds/Vn4KpJ8sLd3Y/sign/c2lnbmVk", f"/api/public/payment-requests/{ID}")
    service = Service(log, GUNICORN_CMD_ARGS="--access-logfile=-")
    try:
        for path in paths:
            requests.get(
                service.url + path, headers={"Referer": f"{service.url}/pay/7hRkWm2QxT9c"}, timeout=30
            )
        # gunicorn's own line, which contains the Referer, comes after ours.
        last = "GET /api/public/payment-requests/01a1fd92-caa6[redacted] HTTP/1.1"
        eventually(lambda: last in log.read_text(), "the last request was logged")
    finally:
        service.process.kill()
    text = log.read_text()
    assert "GET /refunds/Vn4K[redacted]/sign/c2ln[redacted] " in text
    assert f'"{service.url}/pay/7hRk[redacted]"' in text
    for secret in ("Wm2QxT9c", "pJ8sLd3Y", "bmVk", ID):
        assert secret not in text


def test_sentry_gets_no_code_of_a_customers_path() -> None:
    event = {
        "request": {
            "url": "https://pay.example.com/pay/7hRkWm2QxT9c",
            "headers": {"Referer": "/pay/7hRkWm2QxT9c"},
        },
        "breadcrumbs": {"values": [{"message": "GET /refunds/Vn4KpJ8sLd3Y"}]},
    }
    sent = str(_without_request_secrets(event))
    assert "/pay/7hRk[redacted]" in sent
    assert "Wm2QxT9c" not in sent
    assert "pJ8sLd3Y" not in sent
