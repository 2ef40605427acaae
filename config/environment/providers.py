"""Read the settings of each routing provider from the file `provider.toml` in its folder."""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.environment import addresses, values
from config.environment.setting import Setting
from config.environment.wrong import Fault, Wrong, quoted

FOLDER = Path(__file__).resolve().parents[2] / "payments" / "providers"
_FILE = "provider.toml"
_KEY = "at most 500 visible ASCII characters without blanks"
_KEY_NAME = re.compile(r"[a-z][a-z0-9_]*")
_SETTING_NAME = r"[A-Z][A-Z0-9_]*"
_SHOULD_BE = "a file in the format of docs/adding-a-provider.md"


@dataclass(frozen=True)
class Provider:
    """A routing provider: the display name, the settings by name, and the quotas (calls per period)."""

    key: str
    name: str
    settings: Mapping[str, Setting[Any]]
    quotes_without_key: str
    quotes_with_key: str

    @property
    def api_url(self) -> str:
        """The name of the provider's URL setting."""
        return f"{self.key.upper()}_API_URL"

    @property
    def api_key(self) -> str:
        """The name of the provider's API key setting."""
        return f"{self.key.upper()}_API_KEY"

    def quote_limit(self, api_key: str) -> str:
        return self.quotes_with_key if api_key else self.quotes_without_key


def providers(folder: Path = FOLDER) -> Sequence[Provider]:
    """Return the providers below `folder`, by key.

    A provider with an invalid file is left out (see `provider_faults`).
    """
    return [each for each in map(_read, _files(folder)) if isinstance(each, Provider)]


def provider_faults(folder: Path = FOLDER) -> Sequence[Fault]:
    """Return one fault for each invalid file. The service doesn't start with faults."""
    return [each for each in map(_read, _files(folder)) if isinstance(each, Fault)]


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*/{_FILE}"))


def _read(path: Path) -> Provider | Fault:
    try:
        return _provider(path.parent.name, tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        problem = f"can't be read ({type(error).__name__})"
    except tomllib.TOMLDecodeError as error:
        problem = f"is not TOML ({error})"
    except Wrong as wrong:
        problem = f"{wrong.part} {wrong.problem}" if wrong.part else wrong.problem
    return Fault(f"{path.parent.name}/{_FILE}", problem, _SHOULD_BE)


def _provider(key: str, content: Mapping[str, Any]) -> Provider:
    if not _KEY_NAME.fullmatch(key):
        raise Wrong("is in a folder whose name is not lower-case letters, digits and underscores")
    _reject_unknown(content, {"name", "api_url", "quote_limit", "settings"})
    url, prefix = _checked(content, "api_url", addresses.origin), key.upper()
    settings: dict[str, Setting[Any]] = {
        f"{prefix}_API_URL": Setting(
            addresses.origin, f"an https address without query or credentials, such as {url}", default=url
        ),
        f"{prefix}_API_KEY": Setting(values.header_value, _KEY, default="", is_secret=True),
    }
    own = content.get("settings", [])
    if not isinstance(own, list) or not all(isinstance(each, dict) for each in own):
        raise Wrong("is not a list of tables: write [[settings]]", "settings")
    for each in own:
        name = f"{prefix}_{_checked(each, 'name', values.matching(_SETTING_NAME))}"
        if name in settings:
            raise Wrong("is declared twice", name)
        settings[name] = _setting(each)
    for name, setting in settings.items():
        setting.name = name
    limit = content.get("quote_limit")
    if not isinstance(limit, dict):
        raise Wrong("is missing or not a table", "quote_limit")
    _reject_unknown(limit, {"without_key", "with_key"})
    without_key, with_key = (_checked(limit, each, _quota) for each in ("without_key", "with_key"))
    return Provider(key, _checked(content, "name"), settings, without_key, with_key)


def _setting(each: Mapping[str, Any]) -> Setting[Any]:
    _reject_unknown(each, {"name", "default", "pattern", "should_be"})
    pattern = _checked(each, "pattern", _pattern)
    default = each.get("default")
    if not isinstance(default, str) or not re.fullmatch(pattern, default):
        raise Wrong("is missing or doesn't match the pattern", "default")
    return Setting(values.matching(pattern), _checked(each, "should_be"), default=default)


def _checked(
    table: Mapping[str, Any], name: str, check: Callable[[str], object] = values.reject_control_characters
) -> str:
    """Return the text with this name. Raises Wrong if `check` rejects it."""
    text = table.get(name)
    if not isinstance(text, str) or not text:
        raise Wrong("is missing, or not a text", name)
    try:
        check(text)
    except Wrong as wrong:
        raise Wrong(wrong.problem, name) from wrong
    return text


def _quota(text: str) -> None:
    if values.rate_limit(text) is None:
        raise Wrong("is not a rate")


def _pattern(text: str) -> None:
    try:
        re.compile(text)
    except re.error as error:
        raise Wrong("is not a regular expression") from error


def _reject_unknown(table: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(set(table) - known)
    if unknown:
        raise Wrong("is an unknown entry", quoted(unknown[0]))
