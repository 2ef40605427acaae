"""Right settings, and what is reported of others."""

from base64 import urlsafe_b64encode

from config.environment import SettingsError
from config.environment.checking import check

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


def faults_of(**different: str) -> list[str]:
    """Return the lines that report what is wrong with the right settings, changed."""
    try:
        check({**RIGHT, **different}, nodes=NODES)
    except SettingsError as error:
        return str(error).split("\n")
    return []
