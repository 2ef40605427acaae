"""The rate sources' settings: each source is a file in `payments/prices/sources`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from config.environment import addresses
from config.environment.setting import Setting

FOLDER = Path(__file__).resolve().parents[2] / "payments" / "prices" / "sources"
FEEDS = "feeds"
"""The source that asks the chains' nodes; the others have a URL."""

URL_OF_SOURCE: Setting[Any] = Setting(
    addresses.optional_api,
    "an https address without query or credentials that replaces the exchange's own; or nothing",
    default="",
)


def sources(folder: Path = FOLDER) -> Sequence[str]:
    """Return the names of all sources."""
    return sorted(path.stem for path in folder.glob("*.py") if path.stem not in ("__init__", "base"))


def url_setting(source: str) -> str:
    """Return the name of the setting with a source's URL."""
    return f"RATE_URL_{source.upper()}"
