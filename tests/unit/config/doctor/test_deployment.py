"""Doctor reports settings that are valid but unsafe or incomplete for production."""

import pytest
from pytest_django import Settings

from config.doctor import deployment
from config.doctor.finding import Level
from tests.support.operations.findings import found


@pytest.fixture
def production(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.delenv("DJANGO_ALLOW_ASYNC_UNSAFE", raising=False)  # the browser tests set it
    settings.ENVIRONMENT = "production"
    settings.METRICS_TOKEN = "a-token-for-monitoring"
    settings.COLLECTED = True
    settings.DEBUG = settings.ALLOW_HTTP_URLS = settings.WEBHOOK_ALLOW_PRIVATE = False
    settings.SECURE_SSL_REDIRECT = settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    settings.SECURE_HSTS_SECONDS = 31_536_000
    settings.SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    return settings


def test_a_complete_production_has_nothing_wrong(production: Settings) -> None:
    assert found(deployment.check(), Level.WARNING) == []
    assert found(deployment.check(), Level.OK) == ["settings: valid for production"]


@pytest.mark.parametrize("name", ["DEBUG", "ALLOW_HTTP_URLS", "WEBHOOK_ALLOW_PRIVATE"])
def test_each_open_door_is_named(production: Settings, name: str) -> None:
    setattr(production, name, True)
    assert any(
        summary.startswith(f"{name}: is on in production")
        for summary in found(deployment.check(), Level.WARNING)
    )


def test_missing_monitoring_and_static_files_are_named(production: Settings) -> None:
    production.METRICS_TOKEN, production.COLLECTED = "", False
    names = {summary.partition(":")[0] for summary in found(deployment.check(), Level.WARNING)}
    assert names == {"METRICS_TOKEN", "static files"}


def test_what_djangos_own_checks_find_is_named(production: Settings) -> None:
    production.SECURE_HSTS_SECONDS = 0
    assert any("security.W004" in summary for summary in found(deployment.check(), Level.WARNING))
