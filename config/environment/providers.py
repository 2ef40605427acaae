"""The routing providers' own settings, as the `provider.toml` in each provider's folder declares them."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.environment import addresses, values
from config.environment.setting import Setting

FOLDER = Path(__file__).resolve().parents[2] / "payments" / "providers"
_FILE = "provider.toml"
_KEY = "at most 500 visible ASCII characters without blanks"


@dataclass(frozen=True)
class Provider:
    """One routing provider: its display name, its settings by name, and its quotas (calls per period)."""

    key: str
    name: str
    settings: Mapping[str, Setting[Any]]
    quotes_without_key: str
    quotes_with_key: str

    @property
    def api_url(self) -> str:
        """The name of its URL setting."""
        return f"{self.key.upper()}_API_URL"

    @property
    def api_key(self) -> str:
        """The name of its API key setting."""
        return f"{self.key.upper()}_API_KEY"

    def quote_limit(self, api_key: str) -> str:
        """Return its quote limit with or without an API key."""
        return self.quotes_with_key if api_key else self.quotes_without_key


def providers(folder: Path = FOLDER) -> Sequence[Provider]:
    """Return the providers with a folder below `folder`, by key. Raises KeyError or ValueError for a malformed file."""
    return [_read(path) for path in sorted(folder.glob(f"*/{_FILE}"))]


def _read(path: Path) -> Provider:
    content, key = tomllib.loads(path.read_text(encoding="utf-8")), path.parent.name
    url, prefix = content["api_url"], key.upper()
    own = {
        f"{prefix}_{each['name']}": Setting(
            values.matching(each["pattern"]), each["should_be"], default=each["default"]
        )
        for each in content.get("settings", ())
    }
    settings: dict[str, Setting[Any]] = {
        f"{prefix}_API_URL": Setting(
            addresses.api, f"an https address without query or credentials, such as {url}", default=url
        ),
        f"{prefix}_API_KEY": Setting(values.header_value, _KEY, default="", is_secret=True),
        **own,
    }
    for name, setting in settings.items():
        setting.name = name
    limit = content["quote_limit"]
    return Provider(key, content["name"], settings, limit["without_key"], limit["with_key"])
