"""Some values are rejected only in some deployments. Several errors are reported together."""

import pytest

from config.environment.checking import check
from tests.support.settings import RIGHT, faults_of


def test_all_faults_are_reported_together_one_per_line() -> None:
    lines = faults_of(
        SECRET_KEY="", LOG_LEVEL="LOUD\nX", PORT="x", BASE_RPC_URL="x", BASE_RPC_URL_2="https://x.example"
    )
    assert [line.partition(":")[0] for line in lines] == ["SECRET_KEY", "PORT", "LOG_LEVEL", "BASE_RPC_URL"]


def test_a_long_or_odd_value_is_quoted_in_short_and_in_ascii() -> None:
    (line,) = faults_of(LOG_LEVEL="\u202eLOUD" * 100)
    assert line.startswith(r'LOG_LEVEL: "\u202eLOUD')
    assert len(line) < 500
    (line,) = faults_of(LOG_LEVEL="\udcff")
    assert line.startswith(r'LOG_LEVEL: "\udcff" is not UTF-8; ')


PRODUCTION = {"ENVIRONMENT": "production"}
LOOPBACK = {
    "BASE_URL": "http://127.0.0.1:8000",
    "CHECKOUT_URL": "http://localhost:8000",
    "ALLOWED_HOSTS": "*",
}


@pytest.mark.parametrize(
    ("different", "named"),
    [
        ({}, []),
        ({"DEBUG": "True"}, ["DEBUG"]),
        ({"BASE_URL": "http://pay.example.com"}, ["BASE_URL"]),
        ({"CHECKOUT_URL": "http://pay.example.com"}, ["CHECKOUT_URL"]),
        ({"BASE_URL": "http://10.0.0.1", "ALLOWED_HOSTS": "*"}, ["BASE_URL"]),
        ({"ALLOWED_HOSTS": ""}, ["ALLOWED_HOSTS"]),
        ({"ALLOWED_HOSTS": "*"}, []),
        ({"BASE_URL": "https://[::1]", "ALLOWED_HOSTS": "[::1],pay.example.com"}, []),
        ({"SECRET_KEY": "django-insecure-" + RIGHT["SECRET_KEY"]}, ["SECRET_KEY"]),
        ({"SECRET_KEY": "only-for-tests-" + RIGHT["SECRET_KEY"]}, ["SECRET_KEY"]),
        ({**LOOPBACK, "ALLOW_HTTP_URLS": "True", "WEBHOOK_ALLOW_PRIVATE": "True"}, []),
        ({"DEBUG": "perhaps", "ALLOWED_HOSTS": "https://x", "BASE_URL": ""}, ["BASE_URL", "ALLOWED_HOSTS", "DEBUG"]),
    ],
)  # fmt: skip
def test_what_is_for_development_alone_is_refused_in_production(
    different: dict[str, str], named: list[str]
) -> None:
    assert [line.partition(":")[0] for line in faults_of(**PRODUCTION, **different)] == named


def test_staging_may_do_without() -> None:
    assert (
        faults_of(DEBUG="True", ALLOWED_HOSTS="", BASE_URL="http://testserver", ALLOW_HTTP_URLS="True") == []
    )


def test_provider_url_may_be_http_if_http_is_allowed() -> None:
    assert faults_of(LIFI_API_URL="http://aggregator.example", ALLOW_HTTP_URLS="True") == []


@pytest.mark.parametrize(
    ("endpoint", "headers", "is_right"),
    [
        ("http://collector:4318", "", True),
        ("http://127.0.0.1:4318", "x-api-key=a-key", True),
        ("https://collector.example", "x-api-key=a-key", True),
        ("http://collector:4318", "x-api-key=a-key", False),
    ],
)
def test_the_key_of_a_collector_crosses_no_network_unencrypted(
    endpoint: str, headers: str, is_right: bool
) -> None:
    faults = faults_of(OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, OTEL_EXPORTER_OTLP_HEADERS=headers)
    assert [line.partition(":")[0] for line in faults] == (
        [] if is_right else ["OTEL_EXPORTER_OTLP_ENDPOINT"]
    )


def test_collector_key_is_a_secret_even_without_its_scheme() -> None:
    env = check(
        {**RIGHT, "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20a-key-of-a-collector,x=other"}
    )
    assert {"a-key-of-a-collector", "other"} <= set(env.secrets)


def test_traces_need_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("config.environment.addresses.find_spec", find)
    (line,) = faults_of(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:4318")
    assert "needs packages that are not installed" in line
    assert "requirements-tracing.txt" in line
    assert faults_of() == []
