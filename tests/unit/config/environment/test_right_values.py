"""The valid values of each setting, and how they are parsed."""

from decimal import Decimal
from ipaddress import ip_network
from typing import Any

import pytest

from config import logs
from config.environment.checking import check
from config.environment.declared import Environment
from payments.providers.registry import get_provider
from tests.support.settings import KEY, KEY_PAIR, KEY_PAIR_TEXT, RIGHT, faults_of


def test_the_right_settings_have_no_fault() -> None:
    assert faults_of() == []


@pytest.mark.parametrize(
    ("name", "value", "parsed"),
    [
        ("SECRET_KEY", f"  {RIGHT['SECRET_KEY']} ", RIGHT["SECRET_KEY"]),
        ("ENCRYPTION_KEYS", f"{KEY}, {KEY},", [KEY, KEY]),
        ("ENVIRONMENT", "Staging", "staging"),
        ("BASE_URL", "https://pay.example.com:8443/", "https://pay.example.com:8443"),
        ("BASE_URL", "http://[::1]:8000", "http://[::1]:8000"),
        ("CHECKOUT_URL", "http://my_service", "http://my_service"),
        ("ALLOWED_HOSTS", "", []),
        ("ALLOWED_HOSTS", "a.example, .b.example,*", ["a.example", ".b.example", "*"]),
        ("ALLOWED_HOSTS", "[::1],127.0.0.1", ["[::1]", "127.0.0.1"]),
        ("REDIS_URL", "rediss://:p%40@redis.example/5?ssl_cert_reqs=none", "rediss://:p%40@redis.example/5?ssl_cert_reqs=none"),
        ("REDIS_URL", "redis://localhost", "redis://localhost"),
        ("DEBUG", "YES", True),
        ("DEBUG", "", False),
        ("ALLOW_OPAQUE_ROUTES", "0", False),
        ("TRUSTED_PROXIES", "", 0),
        ("TRUSTED_PROXIES", "16", 16),
        ("ROUTING_PROVIDERS", "", ["lifi", "relay"]),
        ("ROUTING_PROVIDERS", "Relay", ["relay"]),
        ("ROUTING_PROVIDERS", "off", []),
        ("LIFI_API_URL", "https://li.quest/v1/", "https://li.quest/v1"),
        ("LIFI_API_URL", "http://127.0.0.1:8547/v1", "http://127.0.0.1:8547/v1"),
        ("RELAY_API_URL", "http://[::1]:8547/v1", "http://[::1]:8547/v1"),
        ("ROUTING_QUOTE_LIMIT", "", ""),
        ("ROUTING_QUOTE_LIMIT", "off", "off"),
        ("RATE_LIMIT_API", "off", None),
        ("WALLETCONNECT_RELAY_URL", "wss://relay.example:8443/v1/", "wss://relay.example:8443/v1"),
        ("WALLETCONNECT_RELAY_URL", "ws://127.0.0.1:5555", "ws://127.0.0.1:5555"),
        ("PORT", "", 8000),
        ("WEB_CONCURRENCY", "", 2),
        ("WORKER_CONCURRENCY", " 8 ", 8),
        ("EVENTS_URL", "", ""),
        ("SPONSOR_EVM_KEY", "", ""),
        ("SPONSOR_EVM_KEY", "0X" + "AB" * 32, "0x" + "ab" * 32),
        ("SPONSOR_SOLANA_KEY", "", ""),
        ("SPONSOR_SOLANA_KEY", KEY_PAIR_TEXT, KEY_PAIR.hex()),
        ("SPONSOR_SOLANA_KEY", str(list(KEY_PAIR)), KEY_PAIR.hex()),
        ("SPONSOR_DAILY_BUDGET", "", {}),
        ("SPONSOR_DAILY_BUDGET", "8453:0.05, 137:20", {8453: Decimal("0.05"), 137: Decimal(20)}),
        ("RATE_SOURCES", "", ["feeds", "coinbase", "coinbase_rates", "kraken", "coingecko", "ecb"]),
        ("RATE_SOURCES", "Kraken,feeds", ["kraken", "feeds"]),
        ("RATE_SOURCES", "off", []),
        ("RATE_MAX_SPREAD", "", Decimal("0.01")),
        ("RATE_MAX_SPREAD", "0.5 %", Decimal("0.005")),
        ("RATE_MAX_AGE", "60", 60),
        ("RATE_URL_KRAKEN", "", ""),
        ("RATE_URL_COINBASE", "https://rates.example.com/", "https://rates.example.com"),
        ("EVENTS_URL", "https://pay.example.com", "https://pay.example.com"),
        ("EVENT_STREAMS_MAX", "10", 10),
        ("DATABASE_LISTEN_URL", "", ""),
        ("DATABASE_LISTEN_URL", "postgresql://u:p@db:5432/quittance", "postgresql://u:p@db:5432/quittance"),
        ("DATABASE_POOL_SIZE", "1000", 1000),
        ("MOST_LOST_PERCENT", "100", 100),
        ("EMAIL_FROM", "Shop <shop@example.com>", "Shop <shop@example.com>"),
        ("SENTRY_DSN", "https://key@sentry.example/1", "https://key@sentry.example/1"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "", ""),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/", "http://collector:4318"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "", {}),
        ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20a-key,x=y", {"authorization": "Bearer a-key", "x": "y"}),
        ("LOG_LEVEL", "warning", "WARNING"),
        ("ADMIN_ALLOWED_IPS", "", []),
        ("ADMIN_ALLOWED_IPS", "203.0.113.7", [ip_network("203.0.113.7/32")]),
        ("ADMIN_ALLOWED_IPS", "10.0.0.0/8, 2001:db8::/48", [ip_network("10.0.0.0/8"), ip_network("2001:db8::/48")]),
        ("LOG_FORMAT", "JSON", "json"),
        ("WORKER_METRICS_PORT", "", 0),
        ("WORKER_METRICS_PORT", "9100", 9100),
        ("BACKUP_FOLDER", "/var/backups", "/var/backups"),
        ("BACKUP_MAX_AGE_HOURS", "", 13),
    ],
)  # fmt: skip
def test_a_right_value_is_read(name: str, value: str, parsed: object) -> None:
    assert check({**RIGHT, name: value}).parsed[name] == parsed


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("", None),
        ("?sslmode=verify-full&connect_timeout=5", {"sslmode": "verify-full", "connect_timeout": 5}),
        ("?host=/run/postgresql", {"host": "/run/postgresql"}),
    ],
)
def test_a_database_is_reached_as_its_address_says(query: str, options: dict[str, Any] | None) -> None:
    for scheme in ("postgres", "postgresql"):
        config = check(
            {**RIGHT, "DATABASE_URL": f"{scheme}://user:p%40ss@db.example:5433/shop{query}"}
        ).DATABASE_URL
        assert config["ENGINE"] == "django.db.backends.postgresql"
        found = [config[name] for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")]
        assert found == ["shop", "user", "p@ss", "db.example", 5433]
        assert config.get("OPTIONS") == options


def test_a_database_may_be_behind_a_socket_or_on_several_hosts() -> None:
    for url, host, port in (
        ("postgresql:////run/postgresql/shop", "/run/postgresql", ""),
        ("postgresql://user@/shop?host=/run/postgresql", "", ""),
        ("postgresql://one.example:5432,two.example:5433/shop", "one.example,two.example", "5432,5433"),
        ("postgresql://u:p@one.example:5433,two.example/shop", "one.example,two.example", "5433,"),
        ("postgresql://u:p%2C@one.example,two.example/shop", "one.example,two.example", ","),
        ("postgresql://u:p@[::1]:5433,[fd00::1]/shop", "::1,fd00::1", "5433,"),
    ):
        config = check({**RIGHT, "DATABASE_URL": url}).DATABASE_URL
        assert (config["NAME"], config["HOST"], config["PORT"]) == ("shop", host, port)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("smtp+tls://user%40a:p%23@mail.example:587", {"EMAIL_USE_TLS": True, "EMAIL_HOST_PASSWORD": "p#"}),
        ("smtp+ssl://mail.example", {"EMAIL_USE_SSL": True, "EMAIL_HOST": "mail.example"}),
        ("smtp://mail.example?email_use_tls=no", {"EMAIL_USE_TLS": False}),
        ("memorymail://", {"EMAIL_BACKEND": "django.core.mail.backends.locmem.EmailBackend"}),
        ("", {"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"}),
        ("filemail:////tmp/mails/of/today", {"EMAIL_FILE_PATH": "/tmp/mails/of/today"}),
    ],
)
def test_mail_goes_out_as_its_address_says(url: str, expected: dict[str, object]) -> None:
    config = check({**RIGHT, "EMAIL_URL": url}).EMAIL_URL
    assert expected.items() <= config.items()
    assert "OPTIONS" not in config


def test_rate_limits_and_networks_are_read_as_what_they_are() -> None:
    env = check({**RIGHT, "RATE_LIMIT_API": "5/Second", "TRUSTED_PROXIES": "10.0.0.0/8, ::1"})
    assert str(env.RATE_LIMIT_API) == "5 per 1 second"
    assert [str(network) for network in env.TRUSTED_PROXIES] == ["10.0.0.0/8", "::1/128"]  # type: ignore[union-attr]


def test_each_routing_provider_that_can_be_named_exists() -> None:
    keys = check({**RIGHT, "ROUTING_PROVIDERS": ""}).ROUTING_PROVIDERS
    assert [get_provider(key).key for key in keys] == ["lifi", "relay"]


def test_a_setting_has_the_type_that_its_parser_gives() -> None:
    env: Environment = check(RIGHT)
    assert env.PORT + 1 == 8001
    assert Environment.PORT.default == "8000"


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("SPONSOR_EVM_KEY", "0X" + "AB" * 32, "0x" + "ab" * 32),
        ("SPONSOR_EVM_KEY", "0X" + "AB" * 32, "ab" * 32),
        ("SPONSOR_SOLANA_KEY", KEY_PAIR_TEXT, KEY_PAIR.hex()),
        ("SPONSOR_SOLANA_KEY", KEY_PAIR_TEXT, KEY_PAIR[:32].hex()),
    ],
)
def test_sponsor_key_is_masked_in_its_parsed_form_too(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str, shown: str
) -> None:
    """An error of a library shows the key in its parsed form, not as the operator wrote it."""
    monkeypatch.setattr(logs, "_known", None)
    logs.know_secrets(Environment({**RIGHT, name: text}).secrets)
    masked = logs.redact(f"bad key {shown}, of {text}")
    assert shown.removeprefix("0x") not in masked
    assert text not in masked
    assert masked.startswith("bad key ")
