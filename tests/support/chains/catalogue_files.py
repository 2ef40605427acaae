"""Catalogue files for tests, and the command that loads them."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

from django.core.management import call_command

from chains.models import Chain, Token

USDC_ON_BASE = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"


def token(**different: Any) -> dict[str, Any]:
    """Return a valid token entry with these changes. The value `...` removes a field."""
    return _merged(
        {"symbol": "USDC", "name": "USD Coin", "decimals": 6, "contract_address": USDC_ON_BASE}, different
    )


def chain(**different: Any) -> dict[str, Any]:
    """Return a valid chain entry with these changes. The value `...` removes a field."""
    good = {
        "id": 8453,
        "name": "Base",
        "chain_type": "evm",
        "is_active": True,
        "rpc_urls": ["https://node.example/key"],
        "explorer_url": "https://explorer.example",
        "native_symbol": "ETH",
        "confirmations": 5,
        "block_time_ms": 2000,
        "routers": {"lifi": ["0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"]},
        "tokens": [token(), token(symbol="ETH", name="Ether", decimals=18, contract_address="")],
    }
    return _merged(good, different)


def _merged(good: dict[str, Any], different: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**good, **different}.items() if value is not ...}


def write(directory: Path, content: Any) -> Path:
    """Write a catalogue file. Text and bytes are written unchanged, anything else as the JSON of these chains."""
    path = directory / "catalogue.json"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(
            content if isinstance(content, str) else json.dumps({"chains": content}), encoding="utf-8"
        )
    return path


def load(path: Path, *options: str) -> str:
    """Run the command; return its output. Raises CommandError."""
    said = StringIO()
    call_command("load_catalogue", str(path), *options, stdout=said)
    return said.getvalue()


def everything() -> list[Any]:
    """Return all rows of the catalogue's tables."""
    return [*Chain.objects.order_by("pk").values(), *Token.objects.order_by("pk").values()]
