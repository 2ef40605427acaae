"""All settings of the service: the name, parser, default and expected format of each.

`.env.example` and the README explain each setting; a test compares them with these declarations.
"""

from collections.abc import Mapping
from typing import Any

from config.environment import addresses, values
from config.environment.providers import providers
from config.environment.rate_sources import sources, url_settings
from config.environment.setting import Setting, switch, whole
from config.environment.wrong import Fault

_ORIGIN = "an http or https address without query or credentials, such as https://pay.example.com"
_RATE = "a number of calls per second, minute or hour, such as 120/minute, or off"
_TOKEN = "at most 500 visible ASCII characters without blanks"  # noqa: S105 - a description

PROVIDERS = providers()
SOURCES = sources()
RATE_URLS = url_settings()


class Environment:
    # --- the deployment ---
    SECRET_KEY = Setting(
        values.secret_key,
        f"{values.SHORTEST_KEY} or more random characters (make them with: "
        'python -c "import secrets; print(secrets.token_urlsafe(50))")',
        is_secret=True,
    )
    ENCRYPTION_KEYS = Setting(
        values.fernet_keys,
        "one or more Fernet keys, newest first, separated by commas (make one with: "
        'python -c "from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())")',
        is_secret=True,
    )
    ENVIRONMENT = Setting(values.one_of("staging", "production"), "staging or production")
    BASE_URL = Setting(addresses.origin, _ORIGIN)
    CHECKOUT_URL = Setting(addresses.origin, _ORIGIN)
    ALLOWED_HOSTS = Setting(
        values.hosts,
        "host names without scheme, port or path, separated by commas, such as pay.example.com "
        "(.example.com allows all of its subdomains, too)",
        default="",
    )
    DATABASE_URL = Setting(
        addresses.database,
        "a PostgreSQL address such as postgresql://user:password@host:5432/quittance, "
        "with special characters in the password percent-encoded",
        is_secret=True,
    )
    REDIS_URL = Setting(
        addresses.redis,
        "a Redis address such as redis://127.0.0.1:6379/0, rediss://:password@host:6379/0 or "
        "redis+sentinel://:password@one:26379,two:26379/mymaster/0",
        is_secret=True,
    )

    # --- safe by default ---
    DEBUG = switch(default="False")
    TRUSTED_PROXIES = Setting(
        values.proxies,
        f"a number of proxies up to {values.MAX_PROXIES}, or their networks such as 10.0.0.0/8, "
        "separated by commas",
        default="0",
    )
    ADMIN_ALLOWED_IPS = Setting(
        values.networks,
        "addresses or networks such as 203.0.113.7,10.8.0.0/16,2001:db8::/48, separated by commas; or nothing",
        default="",
    )
    HSTS_PRELOAD = switch(default="False")
    ALLOW_HTTP_URLS = switch(default="False")
    WEBHOOK_ALLOW_PRIVATE = switch(default="False")

    # --- routing of cross-chain payments ---
    ROUTING_PROVIDERS = Setting(
        values.words(*(provider.key for provider in PROVIDERS)),
        f"{' and '.join(provider.key for provider in PROVIDERS)}, or some of them, each once, in the order of queries; "
        "or off",
        default="lifi,relay",
    )
    ROUTING_QUOTE_LIMIT = Setting(values.optional_rate_limit, _RATE, default="")
    ALLOW_OPAQUE_ROUTES = switch(default="True")
    MOST_LOST_PERCENT = whole(1, 100, "per cent", default="10")

    # --- exchange rates ---
    RATE_SOURCES = Setting(
        values.words(*SOURCES),
        f"{', '.join(SOURCES)}, or some of them, each once; or off",
        default="feeds,coinbase,coinbase_rates,kraken,coingecko,ecb",
    )
    RATE_MAX_SPREAD = Setting(values.percent(50), "a percentage above 0 and up to 50, such as 1", default="1")
    RATE_MAX_AGE = whole(1, 3600, "seconds", default="120")

    # --- payments without a network fee ---
    SPONSOR_EVM_KEY = Setting(
        values.private_key,
        "the private key of an account of its own, 64 hexadecimal digits; or nothing",
        default="",
        is_secret=True,
    )
    SPONSOR_SOLANA_KEY = Setting(
        values.key_pair,
        "the key pair of an account of its own, 64 bytes in base58 or as solana-keygen's list of numbers; or nothing",
        default="",
        is_secret=True,
    )
    SPONSOR_DAILY_BUDGET = Setting(
        values.budgets,
        "chain:amount,chain:amount with chain ids and amounts of native coin, such as 8453:0.05,137:20; or nothing",
        default="",
    )

    # --- WalletConnect ---
    WALLETCONNECT_PROJECT_ID = Setting(
        values.matching(r"[A-Za-z0-9_-]{0,64}"),
        "at most 64 letters, digits, hyphens and underscores",
        default="",
    )
    WALLETCONNECT_RELAY_URL = Setting(
        addresses.relay,
        "a wss address without query or credentials, such as wss://relay.walletconnect.org",
        default="wss://relay.walletconnect.org",
    )

    # --- limits ---
    RATE_LIMIT_API = Setting(values.rate_limit, _RATE, default="100/second")
    RATE_LIMIT_PUBLIC = Setting(values.rate_limit, _RATE, default="120/minute")
    RATE_LIMIT_EXPENSIVE = Setting(values.rate_limit, _RATE, default="20/minute")

    # --- status pushed to open checkouts ---
    EVENTS_URL = Setting(addresses.optional_origin, f"{_ORIGIN}; or nothing", default="")
    EVENT_STREAMS_MAX = whole(1, 100_000, "streams", default="500")

    # --- operation ---
    PORT = Setting(values.whole(1, 65_535), "a TCP port from 1 to 65535", default="8000")
    WEB_CONCURRENCY = whole(1, 256, "web processes", default="2")
    WORKER_CONCURRENCY = whole(1, 256, "worker processes", default="2")
    EMAIL_URL = Setting(
        addresses.email,
        "an address such as smtp+tls://user:password@mail.example.com:587, with special characters in the "
        f"password percent-encoded (schemes: {', '.join(addresses.EMAIL_SCHEMES)})",
        default="consolemail://",
        is_secret=True,
    )
    EMAIL_FROM = Setting(
        values.sender, "a mail address, with or without a name: Shop <shop@example.com>", default=""
    )
    SESSION_IDLE_MINUTES = whole(1, 100_000, "minutes", default="30")
    SESSION_LIFE_HOURS = whole(1, 100_000, "hours", default="12")
    SENTRY_DSN = Setting(
        addresses.sentry,
        "the DSN of a Sentry project, such as https://key@sentry.example.com/1",
        default="",
        is_secret=True,
    )
    METRICS_TOKEN = Setting(values.header_value, _TOKEN, default="", is_secret=True)
    OTEL_EXPORTER_OTLP_ENDPOINT = Setting(
        addresses.collector,
        "the http or https address of an OpenTelemetry collector without query or credentials, such as "
        "http://127.0.0.1:4318, with the packages of requirements-tracing.txt installed; or nothing",
        default="",
    )
    OTEL_EXPORTER_OTLP_HEADERS = Setting(
        values.headers,
        "headers as NAME=VALUE, separated by commas, with values percent-encoded, such as x-api-key=secret",
        default="",
        is_secret=True,
    )
    DATABASE_LISTEN_URL = Setting(
        addresses.listen_database,
        "a PostgreSQL address such as postgresql://user:password@host:5432/quittance that bypasses a pooler in "
        "transaction mode",
        default="",
        is_secret=True,
    )
    DATABASE_POOL_SIZE = whole(1, 1000, "connections", default="16")
    LOG_LEVEL = Setting(
        values.one_of("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
        "DEBUG, INFO, WARNING, ERROR or CRITICAL",
        default="INFO",
    )
    LOG_FORMAT = Setting(values.one_of("text", "json"), "text or json", default="text")
    WORKER_METRICS_PORT = Setting(
        values.whole(0, 65_535), "a TCP port from 1 to 65535; 0 for none", default="0"
    )
    BACKUP_FOLDER = Setting(
        values.matching(r"(/.*)?"),
        "an absolute path such as /var/lib/quittance-backups; or nothing",
        default="",
    )
    BACKUP_MAX_AGE_HOURS = whole(1, 1000, "hours", default="13")

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Parse `texts`, the settings by name. If there are `faults`, some settings have no value."""
        self.parsed: dict[str, object] = {}
        self.faults: list[Fault] = []
        known = declared()
        # Unknown names count as secret. Some of them are variables with node URLs, which only the catalogue names.
        self.secrets = [
            text for name, text in texts.items() if text and (name not in known or known[name].is_secret)
        ]
        for name, setting in known.items():
            value = setting.parse(texts.get(name, ""))
            if isinstance(value, Fault):
                self.faults.append(value)
            else:
                self.parsed[name] = value
        # The parsed form of a key is secret too, because a library's error may contain it. The first half of a key pair
        # is the private key.
        keys = [
            str(self.parsed.get(f"SPONSOR_{each}_KEY", "")).removeprefix("0x") for each in ("EVM", "SOLANA")
        ]
        self.secrets += [part for key in keys if key for part in (key, key[:64])]
        # Each word of a header's value counts as a secret by itself. For example, "Bearer …" has two words.
        headers: Any = self.parsed.get("OTEL_EXPORTER_OTLP_HEADERS", {})
        self.secrets += [word for value in headers.values() for word in value.split()]


def declared() -> dict[str, Setting[Any]]:
    """Return all settings by name, with those of the routing providers and rate sources."""
    own = {name: setting for name, setting in vars(Environment).items() if isinstance(setting, Setting)}
    of_providers = {name: setting for each in PROVIDERS for name, setting in each.settings.items()}
    return own | of_providers | dict(RATE_URLS)
