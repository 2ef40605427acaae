"""The invalid values of each setting, and their error messages."""

import pytest

from config.environment.declared import declared
from tests.support.settings import KEY, KEY_PAIR, PASSWORD, faults_of

# Each setting with invalid values. If several settings share a parser, only one has all values.
WRONG = {
    "SECRET_KEY": ["", "  ", "abc", ("Wm3-" * 8)[:31], "x" * 60, "Wm3-" * 20 + "\n" + "x"],
    "ENCRYPTION_KEYS": ["", ",", "too-short", f"{KEY},{PASSWORD}", KEY + "é"],
    "ENVIRONMENT": ["", "development", "staging,production"],
    "CHECKOUT_URL": ["", "pay.example.com"],
    "BASE_URL": [
        *("", "pay.example.com", "ftp://pay.example.com", "HTTPS://pay.example.com", "https://"),
        *(
            "https://pay.example.com?x=1",
            "https://pay.example.com#x",
            f"https://user:{PASSWORD}@pay.example.com",
        ),
        *(
            "https://pay.example.com:port",
            "https://pay.example.com:0",
            "https://[::1",
            "https://pay example.com",
        ),
        *("https://*.example.com", "https://pay..example.com", "https://pay.example.com/<script>"),
        *("https://pay.example.com\\@evil.example", "https://pay.example.com/x;script-src"),
    ],
    "ALLOWED_HOSTS": ["https://pay.example.com", "pay.example.com:443", "*.example.com", "::1"],
    "DATABASE_URL": [
        *("", "localhost/quittance", f"mysql://user:{PASSWORD}@db.example/quittance"),
        *("prometheus_postgresql://db.example/quittance", "postgresql://db.example"),
        *("postgresql://db.example:port/quittance", "postgresql://db.example:99999/quittance"),
        f"postgresql://user:a#{PASSWORD}@db.example/quittance",
        f"postgresql://user:a/{PASSWORD}@db.example/quittance",
        f"postgresql://user:a[{PASSWORD}@db.example/quittance",
        *("postgresql://%2Frun%2Fpostgresql/quittance", "postgresql://db.example/quittance?sslmode=always"),
        *("postgresql://db.example/quittance?sslmode", "postgresql://db.example/quittance?conn_max_age=600"),
        "postgresql://db.example/quittance?options=-cstatement_timeout%3D0",
        "postgresql://one.example:5432,two.example:port/quittance",
    ],
    "REDIS_URL": [
        *("", "127.0.0.1:6379/0", f":{PASSWORD}@127.0.0.1:6379/0", "unix:///run/redis.sock", "redis://"),
        *(f"redis://:{PASSWORD}@:6379/0", f"redis://:{PASSWORD};{PASSWORD}@127.0.0.1:6379/0"),
        *("redis://127.0.0.1:port/0", "redis://127.0.0.1:6379/first", "redis://127.0.0.1:6379/0?db=1"),
        "rediss://127.0.0.1:6379/0?ssl_cert_reqs=perhaps",
        "rediss://127.0.0.1:6379/0?ssl_ca_certs=/nowhere/ca.pem",
    ],
    "DEBUG": ["perhaps", "2", '"True"'],
    "HSTS_PRELOAD": ["perhaps"],
    "ALLOW_HTTP_URLS": ["perhaps"],
    "WEBHOOK_ALLOW_PRIVATE": ["perhaps"],
    "ALLOW_OPAQUE_ROUTES": ["perhaps"],
    "TRUSTED_PROXIES": ["the-office", "-1", "17", "9" * 5000, "10.0.0.1/8", ",", "0.0.0.0/0", "::/0", "²"],
    "ROUTING_PROVIDERS": ["lifi,squid", "relay,relay", ",", "lifi relay"],
    "RELAY_API_URL": ["http://relay.example"],
    "LIFI_API_URL": [
        *(
            f"https://user:{PASSWORD}@li.quest",
            "http://li.quest/v1",
            "http://127.0.0.1.li.quest/v1",
            "li.quest",
        ),
        *("https://", f"https://li.quest/v1?key={PASSWORD}", "https://li.quest:port/v1"),
    ],
    "LIFI_API_KEY": [f"two {PASSWORD}", PASSWORD + "é", PASSWORD * 100, f"{PASSWORD}\r\nX-Injected: 1"],
    "RELAY_API_KEY": [f"two {PASSWORD}"],
    "METRICS_TOKEN": [f"two {PASSWORD}"],
    "LIFI_INTEGRATOR": ["twenty-four-letters-long", "two words"],
    "RATE_LIMIT_API": [
        "fast",
        "20",
        "0/minute",
        "-1/minute",
        "75/2hours",
        "1/day",
        "9" * 20 + "/second",
        "none",
    ],
    "RATE_LIMIT_PUBLIC": ["fast"],
    "RATE_LIMIT_EXPENSIVE": ["fast"],
    "ROUTING_QUOTE_LIMIT": ["fast"],
    "MOST_LOST_PERCENT": ["much", "0", "101", "1.5", "10%"],
    "WALLETCONNECT_PROJECT_ID": ["two words", "x" * 65],
    "WALLETCONNECT_RELAY_URL": [
        *("https://relay.walletconnect.org", "ws://relay.example", "wss://", "wss://relay.example:port"),
        *("wss://user@relay.example", "wss://relay.example?key=1", "wss://relay.example; script-src *"),
        *("wss://relay.example;script-src", "wss://*.example"),
    ],
    "PORT": ["http", "0", "65536", "-1", "80.5", "tcp://10.0.0.1:80"],
    "WEB_CONCURRENCY": ["zero", "0", "-2", "257", "1e3", "٣", "9" * 5000],
    "WORKER_CONCURRENCY": ["zero"],
    "EVENTS_URL": ["pay.example.com"],
    "SPONSOR_EVM_KEY": ["0x" + "f" * 64, "0" * 64, "1" * 63, "secret", "1" * 65],
    "SPONSOR_SOLANA_KEY": [
        *(
            "secret",
            "0" * 88,
            "1" * 64,
            "1" * 63,
            "z" * 88,
            "[]",
            "[1, 2]",
            "[300]",
            "[" * 300,
            '["a"]',
            "{}",
        ),
        str(list(KEY_PAIR)[:63]),
        str([*KEY_PAIR[:63], KEY_PAIR[63] ^ 1]),
        "0x" + KEY_PAIR.hex(),
    ],
    "SPONSOR_DAILY_BUDGET": [
        "1",
        "1:",
        "1:-1",
        "1:1e3",
        "base:1",
        "0:1",
        "1:0.1,1:0.2",
        "1:0.1;2:0.2",
        "1:.5",
    ],
    "RATE_SOURCES": ["feeds,binance", "kraken,kraken", ","],
    "RATE_MAX_SPREAD": ["much", "0", "51", "-1", "1e1"],
    "RATE_MAX_AGE": ["old", "0", "3601"],
    "RATE_URL_COINBASE": ["api.example.com", "http://api.example.com", "https://user@api.example.com"],
    "RATE_URL_COINBASE_RATES": ["api.example.com"],
    "RATE_URL_COINGECKO": ["api.example.com"],
    "RATE_URL_ECB": ["api.example.com"],
    "RATE_URL_KRAKEN": ["api.example.com"],
    "EVENT_STREAMS_MAX": ["many", "0", "100001"],
    "DATABASE_LISTEN_URL": ["pgsql://127.0.0.1/quittance", "postgresql://127.0.0.1/"],
    "DATABASE_POOL_SIZE": ["many", "0", "1001"],
    "SESSION_IDLE_MINUTES": ["0", "30m", "100001"],
    "SESSION_LIFE_HOURS": ["0", "forever", "100001"],
    "EMAIL_URL": [
        *(
            "carrier-pigeon://x",
            f"user:{PASSWORD}@mail.example:587",
            "smtp://",
            f"smtp://user:{PASSWORD}@:25",
        ),
        *("smtp://mail.example:port", f"smtp+tls://user:a/{PASSWORD}@mail.example"),
        *(f"smtp+tls://user:a#{PASSWORD}@mail.example", "smtp://mail.example?EMAIL_USE_TLS=perhaps"),
        *("smtp+tls://mail.example?EMAIL_USE_SSL=true", "smtp://mail.example?timeout=5", "filemail://"),
        "filemail:////dev/null/mails",
    ],
    "EMAIL_FROM": ["Shop", "Shop <shop>", "a@b.example, c@d.example", "a@b.example\nBcc: x@y"],
    "SENTRY_DSN": ["not a url", f"https://{PASSWORD}@sentry.example", "https://sentry.example/1"],
    "OTEL_EXPORTER_OTLP_ENDPOINT": ["collector:4318", f"https://collector.example/?key={PASSWORD}"],
    "OTEL_EXPORTER_OTLP_HEADERS": [
        *(PASSWORD, f"x-api-key: {PASSWORD}", f"a={PASSWORD},b", f"a={PASSWORD}%0A", f"a b={PASSWORD}")
    ],
    "LOG_LEVEL": ["LOUD", "10", "NOTSET", "INFO,DEBUG"],
    "ADMIN_ALLOWED_IPS": ["office", "10.0.0.1/8", "10.0.0.1;10.0.0.2"],
    "LOG_FORMAT": ["xml", "text,json"],
    "WORKER_METRICS_PORT": ["-1", "65536", "all"],
    "BACKUP_FOLDER": ["backups"],
    "BACKUP_MAX_AGE_HOURS": ["0", "1001", "1d"],
    "BASE_RPC_URL": [
        f"node.example/v2/{PASSWORD}",
        "wss://node.example",
        "https://",
        "https://node.example:port",
    ],
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_value_is_one_line_with_name_and_next_step(name: str) -> None:
    for value in WRONG[name]:
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


def test_each_declared_setting_has_a_wrong_value() -> None:
    assert WRONG.keys() == {*declared(), "BASE_RPC_URL"}
