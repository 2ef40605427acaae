"""Settings of the rate sources. Each source is a file in `payments/prices/sources`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from config.environment import addresses
from config.environment.setting import Setting

FOLDER = Path(__file__).resolve().parents[2] / "payments" / "prices" / "sources"
FEEDS = "feeds"
"""The source that queries the chains' nodes. All other sources have a URL."""


def sources() -> Sequence[str]:
    return sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "base"))


def url_settings() -> Mapping[str, Setting[Any]]:
    meaning = "an https address without query or credentials that replaces the exchange's own; or nothing"
    made = {
        url_setting(name): Setting(addresses.optional_origin, meaning, default="")
        for name in sources()
        if name != FEEDS
    }
    for name, setting in made.items():
        setting.name = name
    return made


def url_setting(source: str) -> str:
    return f"RATE_URL_{source.upper()}"
