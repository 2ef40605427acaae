"""Complete the settings of a new deployment: derive values from the given ones, and generate keys."""

import secrets
from collections.abc import Mapping
from urllib.parse import urlsplit

from cryptography.fernet import Fernet

from config.environment.declared import declared

NEEDED = ("BASE_URL", "DATABASE_URL", "REDIS_URL")
"""The settings without a default."""

QUESTIONS = {
    "BASE_URL": "The address of API and portal, such as https://pay.example.com",
    "DATABASE_URL": "PostgreSQL, such as postgresql://quittance:PASSWORD@127.0.0.1:5432/quittance",
    "REDIS_URL": "Redis, such as redis://127.0.0.1:6379/0",
    "EMAIL_URL": "The mail server, such as smtp+tls://user:PASSWORD@mail.example.com:587 (empty: none is sent)",
}
SECRET = frozenset({"DATABASE_URL", "REDIS_URL", "EMAIL_URL"})
"""Settings that may contain a password; the prompt doesn't echo them."""


def complete(given: Mapping[str, str]) -> dict[str, str]:
    """Return all values to write, in the order of declaration."""
    base = given.get("BASE_URL", "")
    checkout = given.get("CHECKOUT_URL") or base
    derived = {
        "SECRET_KEY": secrets.token_urlsafe(50),
        "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
        "METRICS_TOKEN": secrets.token_urlsafe(32),
        "ENVIRONMENT": "production",
        "CHECKOUT_URL": checkout,
        "ALLOWED_HOSTS": ",".join(dict.fromkeys(host for url in (base, checkout) if (host := _host(url)))),
        "TRUSTED_PROXIES": "1" if base.startswith("https://") else "0",
    }
    values = {**derived, **{name: value for name, value in given.items() if value}}
    known = [name for name in declared() if name in values]
    return {name: values[name] for name in [*known, *sorted(values.keys() - set(known))]}


def _host(url: str) -> str:
    """Return the host as in a Host header, without the port."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return ""
    return f"[{host}]" if ":" in host else host
