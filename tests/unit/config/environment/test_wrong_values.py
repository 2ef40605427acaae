"""What each setting must not be, and how that is reported."""

import pytest

from config.environment.declared import declared
from tests.support.settings import KEY, PASSWORD, faults_of

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
        for name in (
            "RATE_URL_COINBASE",
            "RATE_URL_COINBASE_RATES",
            "RATE_URL_COINGECKO",
            "RATE_URL_ECB",
            "RATE_URL_KRAKEN",
        )
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
