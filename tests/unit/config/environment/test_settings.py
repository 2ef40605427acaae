"""What each setting may be, what is refused, and how it is reported."""

from base64 import urlsafe_b64encode
from decimal import Decimal
from ipaddress import ip_network
from typing import Any

import pytest

from config.environment import SettingsError
from config.environment.checking import check
from config.environment.declared import Environment, declared
from payments.providers.registry import get_provider

KEY = urlsafe_b64encode(b"0123456789abcdef" * 2).decode()
RIGHT = {
    "SECRET_KEY": "Wm3" * 20 + "-xyz",
    "ENCRYPTION_KEYS": KEY,
    "ENVIRONMENT": "staging",
    "BASE_URL": "https://pay.example.com",
    "CHECKOUT_URL": "https://pay.example.com",
    "ALLOWED_HOSTS": "pay.example.com",
    "DATABASE_URL": "postgresql://user:password@db.example:5432/quittance",
    "REDIS_URL": "redis://127.0.0.1:6379/0",
}
NODES = ("BASE_RPC_URL", "BASE_RPC_URL_2")
# What no message may contain, whatever else is wrong with the value.
PASSWORD = "hunter2"

WRONG = [
    *[
        ("SECRET_KEY", value)
        for value in ("", "  ", "abc", ("Wm3-" * 8)[:31], "x" * 60, "Wm3-" * 20 + "\n" + "x")
    ],
    *[
        ("ENCRYPTION_KEYS", value)
        for value in ("", ",", "too-short", f"{KEY},{PASSWORD}", KEY[:-1], KEY + "é")
    ],
    *[("ENVIRONMENT", value) for value in ("", "prod", "development", "staging,production")],
    *[
        (name, value)
        for name in ("BASE_URL", "CHECKOUT_URL")
        for value in (
            "",
            "pay.example.com",
            "ftp://pay.example.com",
            "HTTPS://pay.example.com",
            "https://",
            "https://pay.example.com?x=1",
            "https://pay.example.com#x",
            f"https://user:{PASSWORD}@pay.example.com",
            "https://pay.example.com:port",
            "https://pay.example.com:70000",
            "https://pay.example.com:0",
            "https://[::1",
            "https://pay example.com",
            "https://*.example.com",
            "https://pay..example.com",
            "https://pay.example.com/<script>",
            "https://pay.example.com\\@evil.example",
            "https://pay.example.com/x;script-src",
        )
    ],
    *[
        ("ALLOWED_HOSTS", value)
        for value in (
            "https://pay.example.com",
            "pay.example.com:443",
            "pay.example.com/x",
            "*.example.com",
            "::1",
        )
    ],
    *[
        ("DATABASE_URL", value)
        for value in (
            "",
            "localhost/quittance",
            f"mysql://user:{PASSWORD}@db.example/quittance",
            "sqlite:///quittance.sqlite3",
            "prometheus_postgresql://db.example/quittance",
            "postgresql://db.example",
            "postgresql://db.example:port/quittance",
            "postgresql://db.example:99999/quittance",
            f"postgresql://user:a#{PASSWORD}@db.example/quittance",
            f"postgresql://user:a/{PASSWORD}@db.example/quittance",
            f"postgresql://user:a[{PASSWORD}@db.example/quittance",
            "postgresql://%2Frun%2Fpostgresql/quittance",
            "postgresql://db.example/quittance?sslmode=always",
            "postgresql://db.example/quittance?sslmode",
            "postgresql://db.example/quittance?conn_max_age=600",
            "postgresql://db.example/quittance?options=-cstatement_timeout%3D0",
            "postgresql://db.example/quittance?colour=blue",
            "postgresql://db.example/quittance?DISABLE_SERVER_SIDE_CURSORS=false",
            "postgresql://one.example:5432,two.example:port/quittance",
        )
    ],
    *[
        ("REDIS_URL", value)
        for value in (
            "",
            "127.0.0.1:6379/0",
            f":{PASSWORD}@127.0.0.1:6379/0",
            "http://127.0.0.1:6379",
            "unix:///run/redis.sock",
            "redis://",
            f"redis://:{PASSWORD}@:6379/0",
            f"redis://:{PASSWORD};{PASSWORD}@127.0.0.1:6379/0",
            "redis://127.0.0.1:port/0",
            "redis://127.0.0.1:6379/first",
            "redis://127.0.0.1:6379/-1",
            "redis://127.0.0.1:6379/0?db=1",
            "rediss://127.0.0.1:6379/0?ssl_cert_reqs=perhaps",
            "rediss://127.0.0.1:6379/0?ssl_ca_certs=/nowhere/ca.pem",
        )
    ],
    *[
        (name, value)
        for name in ("DEBUG", "ALLOW_HTTP_URLS", "WEBHOOK_ALLOW_PRIVATE", "ALLOW_OPAQUE_ROUTES")
        for value in ("perhaps", "2", '"True"', "yes please", "-1")
    ],
    *[
        ("TRUSTED_PROXIES", value)
        for value in (
            "the-office",
            "-1",
            "17",
            "9" * 5000,
            "10.0.0.1/8",
            "10.0.0.0/33",
            ",",
            "0.0.0.0/0",
            "::/0",
            "²",
        )
    ],
    *[("ROUTING_PROVIDERS", value) for value in ("lifi,squid", "relay,relay", ",", "lifi relay")],
    *[
        (name, value)
        for name in ("LIFI_API_URL", "RELAY_API_URL")
        for value in (
            f"https://somebody:{PASSWORD}@li.quest",
            "http://li.quest/v1",
            "http://127.0.0.1.li.quest/v1",
            "ftp://li.quest",
            "li.quest",
            "https://",
            f"https://li.quest/v1?key={PASSWORD}",
            "https://li.quest:port/v1",
        )
    ],
    *[
        (name, value)
        for name in ("LIFI_API_KEY", "RELAY_API_KEY", "METRICS_TOKEN")
        for value in (f"two {PASSWORD}", PASSWORD + "é", PASSWORD * 100, f"{PASSWORD}\r\nX-Injected: 1")
    ],
    *[("LIFI_INTEGRATOR", value) for value in ("twenty-four-letters-long", "two words")],
    *[
        (name, value)
        for name in ("RATE_LIMIT_API", "RATE_LIMIT_PUBLIC", "RATE_LIMIT_EXPENSIVE", "ROUTING_QUOTE_LIMIT")
        for value in (
            "fast",
            "20",
            "0/minute",
            "-1/minute",
            "75/2hours",
            "1/day",
            "9" * 20 + "/second",
            "none",
        )
    ],
    *[("MOST_LOST_PERCENT", value) for value in ("much", "0", "101", "-1", "1.5", "10%")],
    *[("WALLETCONNECT_PROJECT_ID", value) for value in ("two words", "x" * 65)],
    *[
        ("WALLETCONNECT_RELAY_URL", value)
        for value in (
            "https://relay.walletconnect.org",
            "ws://relay.example",
            "wss://",
            "wss://relay.example:port",
            "wss://somebody@relay.example",
            "wss://relay.example?key=1",
            "wss://relay.example; script-src *",
            "wss://relay.example;script-src",
            "wss://*.example",
        )
    ],
    *[("PORT", value) for value in ("http", "0", "65536", "-1", "80.5", "tcp://10.0.0.1:80")],
    *[
        (name, value)
        for name in ("WEB_CONCURRENCY", "WORKER_CONCURRENCY")
        for value in ("zero", "0", "-2", "257", "1e3", "2.5", "٣", "9" * 5000)
    ],
    ("EVENTS_URL", "pay.example.com"),
    *[("RATE_SOURCES", value) for value in ("feeds,binance", "kraken,kraken", ",")],
    *[("RATE_MAX_SPREAD", value) for value in ("much", "0", "51", "-1", "1e1")],
    *[("RATE_MAX_AGE", value) for value in ("old", "0", "3601")],
    *[
        (name, value)
        for name in ("RATE_URL_COINBASE", "RATE_URL_KRAKEN")
        for value in (
            "api.example.com",
            "http://api.example.com",
            "https://user@api.example.com",
            "ftp://api.example.com",
        )
    ],
    *[("EVENT_STREAMS_MAX", value) for value in ("many", "0", "100001")],
    ("DATABASE_LISTEN_URL", "pgsql://127.0.0.1/quittance"),
    ("DATABASE_LISTEN_URL", "postgresql://127.0.0.1/"),
    *[("DATABASE_POOL_SIZE", value) for value in ("many", "0", "-1", "1001")],
    *[
        (name, value)
        for name in ("SESSION_IDLE_MINUTES", "SESSION_LIFE_HOURS")
        for value in ("0", "-5", "30m", "forever", "100001")
    ],
    *[
        ("EMAIL_URL", value)
        for value in (
            "carrier-pigeon://x",
            f"user:{PASSWORD}@mail.example:587",
            "smtp://",
            f"smtp://user:{PASSWORD}@:25",
            "smtp://mail.example:port",
            f"smtp+tls://user:a/{PASSWORD}@mail.example",
            f"smtp+tls://user:a#{PASSWORD}@mail.example",
            "smtp://mail.example?EMAIL_USE_TLS=perhaps",
            "smtp+tls://mail.example?EMAIL_USE_SSL=true",
            "smtp://mail.example?timeout=5",
            "filemail://",
            "filemail:////dev/null/mails",
        )
    ],
    *[
        ("EMAIL_FROM", value)
        for value in ("Shop", "Shop <shop>", "a@b.example, c@d.example", "a@b.example\nBcc: x@y")
    ],
    *[
        ("SENTRY_DSN", value)
        for value in (
            "not a url",
            f"https://{PASSWORD}@sentry.example",
            "https://sentry.example/1",
            "ftp://k@s.example/1",
        )
    ],
    *[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", value)
        for value in ("collector:4318", "grpc://collector:4317", f"https://collector.example/?key={PASSWORD}")
    ],
    *[
        ("OTEL_EXPORTER_OTLP_HEADERS", value)
        for value in (
            PASSWORD,
            f"x-api-key: {PASSWORD}",
            f"a={PASSWORD},b",
            f"a={PASSWORD}%0A",
            f"a b={PASSWORD}",
        )
    ],
    *[("LOG_LEVEL", value) for value in ("LOUD", "10", "NOTSET", "INFO,DEBUG")],
    *[("ADMIN_ALLOWED_IPS", value) for value in ("office", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.1;10.0.0.2")],
    *[("LOG_FORMAT", value) for value in ("xml", "text,json")],
    *[("WORKER_METRICS_PORT", value) for value in ("-1", "65536", "all")],
    ("BACKUP_FOLDER", "backups"),
    *[("BACKUP_MAX_AGE_HOURS", value) for value in ("0", "1001", "1d")],
    *[
        ("BASE_RPC_URL", value)
        for value in (
            f"node.example/v2/{PASSWORD}",
            "wss://node.example",
            "https://",
            "https://node.example:port",
        )
    ],
]


def faults_of(**different: str) -> list[str]:
    """Return the lines that report what is wrong with the right settings, changed."""
    try:
        check({**RIGHT, **different}, nodes=NODES)
    except SettingsError as error:
        return str(error).split("\n")
    return []


@pytest.mark.parametrize(("name", "value"), WRONG, ids=[f"{name}-{n}" for n, (name, _) in enumerate(WRONG)])
def test_a_wrong_value_is_one_line_with_the_name_and_what_it_should_be(name: str, value: str) -> None:
    (line,) = faults_of(**{name: value})
    begin, _, what = line.partition(": ")
    problem, _, should_be = what.partition("; it should be ")
    assert begin == name
    assert problem
    assert should_be
    assert line.isascii()
    assert len(line) < 420
    assert PASSWORD not in line
    is_secret = name not in declared() or declared()[name].is_secret
    assert not is_secret or len(value) < 3 or value not in problem


def test_each_setting_that_is_declared_is_refused_for_something() -> None:
    assert {name for name, _ in WRONG} == {*declared(), "BASE_RPC_URL"}


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
        ("LIFI_API_URL", "http://localhost:8547/v1", "http://localhost:8547/v1"),
        ("RELAY_API_URL", "http://[::1]:8547/v1", "http://[::1]:8547/v1"),
        ("ROUTING_QUOTE_LIMIT", "", ""),
        ("ROUTING_QUOTE_LIMIT", "off", "off"),
        ("RATE_LIMIT_API", "off", None),
        ("WALLETCONNECT_RELAY_URL", "wss://relay.example:8443/v1/", "wss://relay.example:8443/v1"),
        ("WALLETCONNECT_RELAY_URL", "ws://127.0.0.1:5555", "ws://127.0.0.1:5555"),
        ("WALLETCONNECT_RELAY_URL", "ws://[::1]:5555", "ws://[::1]:5555"),
        ("PORT", "", 8000),
        ("WEB_CONCURRENCY", "", 2),
        ("WORKER_CONCURRENCY", " 8 ", 8),
        ("EVENTS_URL", "", ""),
        ("RATE_SOURCES", "", ["feeds", "coinbase", "kraken"]),
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
    for url, host in (
        ("postgresql:////run/postgresql/shop", "/run/postgresql"),
        ("postgresql://user@/shop?host=/run/postgresql", ""),
        ("postgresql://one.example:5432,two.example:5433/shop", "one.example,two.example"),
    ):
        config = check({**RIGHT, "DATABASE_URL": url}).DATABASE_URL
        assert (config["NAME"], config["HOST"]) == ("shop", host)


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


def test_all_faults_are_reported_at_once_each_in_a_line_of_its_own() -> None:
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


def test_providers_may_be_called_over_plain_http_where_that_is_allowed() -> None:
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


def test_the_key_of_a_collector_is_a_secret_without_its_scheme_too() -> None:
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


def test_each_routing_provider_that_can_be_named_exists() -> None:
    keys = check({**RIGHT, "ROUTING_PROVIDERS": ""}).ROUTING_PROVIDERS
    assert [get_provider(key).key for key in keys] == ["lifi", "relay"]


def test_a_setting_has_the_type_that_its_parser_gives() -> None:
    env: Environment = check(RIGHT)
    assert env.PORT + 1 == 8001
    assert Environment.PORT.default == "8000"
