"""The stored secrets of the local world, and the environment of its processes."""

import os
import secrets
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psycopg
from cryptography.fernet import Fernet

from demo.aggregator.places import HARBOUR_CHAIN_ID
from demo.contracts.deploy import USDC
from demo.services import anvil, surfnet
from demo.solana.mint import MERCHANT, SPONSOR, WALLET

ADMIN_USER = "admin"


class Memory:
    """Names and values in a file that only its owner can read: secrets, and finished set-up steps."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self._values = dict(line.split("=", 1) for line in lines if "=" in line)
        self._make_once("SECRET_KEY", secrets.token_urlsafe(50))
        self._make_once("ENCRYPTION_KEYS", Fernet.generate_key().decode())
        self._make_once("ADMIN_PASSWORD", secrets.token_urlsafe(12))

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def get(self, name: str) -> str | None:
        return self._values.get(name)

    def __setitem__(self, name: str, value: str) -> None:
        self._values[name] = value
        self._write()

    def forget(self, *names: str) -> None:
        for name in names:
            self._values.pop(name, None)
        self._write()

    def _make_once(self, name: str, value: str) -> None:
        if name not in self._values:
            self[name] = value

    def _write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        _write_privately(self._path, (f"{name}={value}" for name, value in self._values.items()))


@dataclass(frozen=True)
class Addresses:
    """The addresses of the world's parts. `solana` is None if that chain can't run."""

    web: str
    shop: str
    aggregator: str
    events: str
    rates: str
    chain: str
    harbour: str
    solana: str | None
    database: str
    redis: str


def web_environment(memory: Memory, at: Addresses) -> dict[str, str]:
    """Return the environment of manage.py, web, worker and beat: this process's environment with the service's
    settings.
    """
    return {**os.environ, "PYTHONUNBUFFERED": "1", **_settings(memory, at)}


def write_settings(memory: Memory, at: Addresses, path: Path) -> None:
    """Write the service's settings as a shell script. The script lets you run manage.py while the world runs."""
    _write_privately(
        path, (f"export {name}={shlex.quote(value)}" for name, value in _settings(memory, at).items())
    )


def _settings(memory: Memory, at: Addresses) -> dict[str, str]:
    return {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "SECRET_KEY": memory["SECRET_KEY"],
        "ENCRYPTION_KEYS": memory["ENCRYPTION_KEYS"],
        "DEBUG": os.environ.get("DEBUG", "False"),  # if it is on, errors show Django's own pages
        "ENVIRONMENT": "staging",
        "BASE_URL": at.web,
        "CHECKOUT_URL": at.web,
        "EVENTS_URL": at.events,
        "ALLOWED_HOSTS": "127.0.0.1,localhost",
        "DATABASE_URL": at.database,
        "REDIS_URL": at.redis,
        "ALLOW_HTTP_URLS": "True",
        "WEBHOOK_ALLOW_PRIVATE": "True",
        "LOCAL_RPC_URL": at.chain,
        "LOCAL_CHAIN_NAME": "Local Chain",
        "HARBOUR_RPC_URL": at.harbour,
        "HARBOUR_CHAIN_NAME": "Harbour Chain",
        "ROUTING_PROVIDERS": "lifi",
        "LIFI_API_URL": at.aggregator,
        "LIFI_API_KEY": "",  # the local world must not use a real key
        "ROUTING_QUOTE_LIMIT": "off",
        # Only sources without lists of rates: the service caches a list for half a minute, and a change of a switch
        # should take effect at once.
        "RATE_SOURCES": "feeds,coinbase,kraken",
        "RATE_URL_COINBASE": at.rates,
        "RATE_URL_KRAKEN": at.rates,
        "SPONSOR_EVM_KEY": anvil.SPONSOR_KEY,
        "SPONSOR_DAILY_BUDGET": _budget(at),
        "DEMO_WALLET_KEY": anvil.WALLET_KEY,
        "DEMO_MERCHANT_KEY": anvil.MERCHANT_KEY,
        **_solana_environment(at),
    }


def _budget(at: Addresses) -> str:
    """Return the setting SPONSOR_DAILY_BUDGET: one coin a day for each chain that runs."""
    chains = [anvil.CHAIN_ID, HARBOUR_CHAIN_ID, *([surfnet.CHAIN_ID] if at.solana else [])]
    return ",".join(f"{chain_id}:1" for chain_id in chains)


def _solana_environment(at: Addresses) -> dict[str, str]:
    """Return the Solana settings, or nothing if the chain can't run. A key is the 32 bytes of its seed in hex."""
    if at.solana is None:
        return {}
    return {
        "LOCAL_SOLANA_RPC_URL": at.solana,
        "SPONSOR_SOLANA_KEY": str(SPONSOR),
        "DEMO_SOLANA_WALLET_KEY": WALLET.secret().hex(),
        "DEMO_SOLANA_MERCHANT_KEY": MERCHANT.secret().hex(),
    }


def aggregator_environment(at: Addresses) -> dict[str, str]:
    """Return the environment of the local aggregator, with its port and the chains' nodes."""
    port = at.aggregator.removesuffix("/v1").rsplit(":", 1)[1]
    solana = {"LOCAL_SOLANA_RPC_URL": at.solana} if at.solana else {}
    nodes = {"LOCAL_RPC_URL": at.chain, "HARBOUR_RPC_URL": at.harbour, **solana}
    return {**_kept(), **nodes, "AGGREGATOR_PORT": port}


def rates_environment(at: Addresses) -> dict[str, str]:
    """Return the environment of the local rate sources, with their port and the first chain's node."""
    return {**_kept(), "LOCAL_RPC_URL": at.chain, "RATES_PORT": at.rates.rsplit(":", 1)[1]}


def shop_environment(memory: Memory, at: Addresses, directory: Path) -> dict[str, str]:
    """Return the environment of the demo shop, with only the service's URL and an API key."""
    return {
        **_kept(),
        "QUITTANCE_API_URL": at.web,
        "QUITTANCE_API_KEY": memory["API_KEY"],
        "SHOP_PORT": at.shop.rsplit(":", 1)[1],
        "SHOP_URL": at.shop,
        "SHOP_CHAIN_ID": str(anvil.CHAIN_ID),
        "SHOP_KIOSK_CHAIN_ID": str(HARBOUR_CHAIN_ID),
        "SHOP_TOKEN_ADDRESS": USDC,
        "SHOP_DATABASE": str(directory / "shop.sqlite3"),
        "RECIPIENT_ADDRESS": anvil.MERCHANT_ADDRESS,
    }


def _write_privately(path: Path, lines: Iterable[str]) -> None:
    """Replace the file's content by these lines. Only the file's owner can read the file."""
    draft = path.with_suffix(".new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.writelines(f"{line}\n" for line in lines)
    draft.replace(path)


def _kept() -> dict[str, str]:
    """Return the variables of this process's environment that every program needs."""
    names = ("PATH", "HOME", "LANG", "VIRTUAL_ENV", "NO_PROXY", "no_proxy")
    return {"PYTHONUNBUFFERED": "1"} | {name: os.environ[name] for name in names if name in os.environ}


def reach_loopback_directly() -> None:
    """Make this process and its children connect to this machine without a proxy."""
    for name in ("NO_PROXY", "no_proxy"):
        os.environ[name] = ",".join(filter(None, [os.environ.get(name), "127.0.0.1", "localhost"]))


def database_identity(url: str) -> str:
    """Return a text that identifies the database at `url`.

    If the URL later leads to another database, the text is different.
    """
    with psycopg.connect(url, connect_timeout=10) as connection:
        row = connection.execute(
            "SELECT system_identifier::text, oid::text FROM pg_control_system(), pg_database"
            " WHERE datname = current_database()"
        ).fetchone()
    return "-".join(row or ())
