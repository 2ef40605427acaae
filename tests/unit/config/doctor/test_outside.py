"""Doctor calls the service as customers do, and reports errors of its proxy."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from config.doctor import outside
from config.doctor.finding import Level
from config.server import probe
from tests.loopback import scripted
from tests.support.operations.findings import found, levels
from tests.support.operations.tls_proxy import (
    Change,
    make_certificate,
    passing_on,
    tls_proxy,
    well,
    without_scheme,
)

pytestmark = pytest.mark.django_db(transaction=True)

Start = Callable[..., str]


@pytest.fixture
def served(
    live_server: LiveServer, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Start]:
    """Return a function that starts a TLS proxy in front of the service. By default, its certificate is trusted."""
    with ExitStack() as stack:

        def start(
            change: Change = well,
            *,
            days: float = 90,
            is_trusted: bool = True,
            proxies: int = 1,
            hsts: str = "max-age=9",
        ) -> str:
            certificate = make_certificate(tmp_path / "proxy.pem", days)
            if is_trusted:
                monkeypatch.setitem(os.environ, "SSL_CERT_FILE", str(certificate))
            url = stack.enter_context(tls_proxy(live_server.url, certificate, change, hsts))
            settings.BASE_URL = settings.CHECKOUT_URL = url
            settings.HTTPS = settings.SECURE_SSL_REDIRECT = True
            settings.TRUSTED_PROXIES = proxies
            settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if proxies else None
            return url

        yield start


def test_a_proxy_that_does_as_documented_has_nothing_wrong(served: Start) -> None:
    served()
    assert levels(outside.check()) == {"BASE_URL certificate": "ok", "BASE_URL": "ok"}


def test_a_certificate_that_ends_soon_is_named(served: Start) -> None:
    served(days=10.5)
    (summary,) = found(outside.check(), Level.WARNING)
    assert summary == "BASE_URL certificate: the certificate expires in 10 days"


def test_a_certificate_that_browsers_refuse_is_named(served: Start) -> None:
    served(is_trusted=False)
    (summary,) = found(outside.check(), Level.FAILED)
    assert "the certificate is invalid" in summary


def test_a_proxy_that_believes_the_clients_address_is_named(served: Start) -> None:
    served(passing_on)
    (summary,) = found(outside.check(), Level.FAILED)
    assert "clients can forge their address" in summary


def test_a_proxy_that_does_not_say_https_is_named(served: Start) -> None:
    served(without_scheme)
    assert any("the service takes https for http" in each for each in found(outside.check(), Level.FAILED))


def test_a_proxy_that_the_service_does_not_trust_is_named(served: Start) -> None:
    served(proxies=0)
    summaries = found(outside.check(), Level.FAILED)
    assert any("the service takes https for http" in each for each in summaries)
    assert any("TRUSTED_PROXIES is 0 behind a proxy" in each for each in summaries)


def test_a_host_that_is_not_allowed_is_named(served: Start, settings: Settings) -> None:
    served()
    settings.ALLOWED_HOSTS = ["pay.example.com"]
    (finding,) = (each for each in outside.check() if each.level is Level.FAILED)
    assert "ALLOWED_HOSTS" in finding.advice


def test_a_missing_hsts_header_is_named(served: Start) -> None:
    served(hsts="")
    (summary,) = found(outside.check(), Level.WARNING)
    assert "enforce https" in summary


def test_streams_that_end_at_web_are_named(served: Start, settings: Settings) -> None:
    settings.EVENTS_URL = served()
    assert levels(outside.check()) == {
        "BASE_URL": "ok",
        "BASE_URL certificate": "ok",
        "EVENTS_URL": "warning",
    }
    (summary,) = found(outside.check(), Level.WARNING)
    assert summary.endswith("routes streams to web, so checkouts poll")


def test_another_deployment_at_the_address_is_named(settings: Settings) -> None:
    with scripted(lambda exchange: exchange.reply({"status": "ok"})) as other:
        settings.BASE_URL = settings.CHECKOUT_URL = other.url
        (summary,) = found(outside.check(), Level.FAILED)
    assert "but from another deployment" in summary


def test_an_address_that_leads_nowhere_is_named(settings: Settings) -> None:
    settings.BASE_URL, settings.CHECKOUT_URL = "http://127.0.0.1:1", "https://127.0.0.1:1"
    settings.EVENTS_URL = "http://127.0.0.1:2"
    assert levels(outside.check()) == dict.fromkeys(("BASE_URL", "CHECKOUT_URL", "EVENTS_URL"), "failed")


def test_only_this_deployments_key_shows_how_a_request_was_seen(settings: Settings) -> None:
    headers = {probe.HEADER: probe.make()}
    assert Client().get("/readyz", headers=headers).json()["seen"]["host"] == "testserver"
    assert "seen" not in Client().get("/readyz").json()
    assert "seen" not in Client().get("/readyz", headers={probe.HEADER: "forged:by:me"}).json()
    settings.SECRET_KEY = "another-secret-key-of-forty-characters-0123456789"
    assert "seen" not in Client().get("/readyz", headers=headers).json()


def test_a_proof_is_valid_for_a_minute_only(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    made = probe.make()
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    assert not probe.is_valid(made)
