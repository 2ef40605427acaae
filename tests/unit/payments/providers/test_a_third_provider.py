"""A routing provider is one folder: its name, its settings and its client. No other file names it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.test import override_settings

import payments.providers
from config.environment.providers import providers
from config.environment.wrong import Fault
from payments.providers import registry
from tests.unit.config.environment.test_provider_files import SOUND

CLIENT = """
class Acme:
    key = "acme"

    def __init__(self, *values):
        self.values = values


def make(*values):
    return Acme(*values)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    acme = tmp_path / "acme"
    acme.mkdir()
    (acme / "provider.toml").write_text(SOUND)
    (acme / "__init__.py").write_text(CLIENT)
    monkeypatch.setattr(payments.providers, "__path__", [*payments.providers.__path__, str(tmp_path)])
    registry.forget()
    yield tmp_path
    registry.forget()


def test_its_folder_declares_its_name_settings_and_quotas(folder: Path) -> None:
    [acme] = providers(folder)
    assert (acme.key, acme.name) == ("acme", "Acme Bridge")
    assert [*acme.settings] == ["ACME_API_URL", "ACME_API_KEY", "ACME_TIER"]
    assert acme.settings["ACME_API_URL"].parse("") == "https://api.acme.example"
    assert acme.settings["ACME_API_KEY"].is_secret
    assert acme.settings["ACME_TIER"].parse("gold") == "gold"
    fault = acme.settings["ACME_TIER"].parse("silver")
    assert isinstance(fault, Fault)
    assert "basic or gold" in str(fault)
    assert (acme.quote_limit(""), acme.quote_limit("key")) == ("5/minute", "9/minute")


def test_third_provider_is_queried_in_order_and_named(folder: Path) -> None:
    with override_settings(
        ROUTING_PROVIDERS=["acme", "lifi"],
        ROUTING_PROVIDER_NAMES={**settings.ROUTING_PROVIDER_NAMES, "acme": "Acme Bridge"},
        ROUTING_PROVIDER_SETTINGS={
            **settings.ROUTING_PROVIDER_SETTINGS,
            "acme": ("ACME_API_URL", "ACME_API_KEY", "ACME_TIER"),
        },
        ACME_API_URL="https://api.acme.example",
        ACME_API_KEY="",
        ACME_TIER="gold",
    ):
        first, second = registry.providers_in_order()
        assert (first.key, second.key) == ("acme", "lifi")
        assert first.values == ("https://api.acme.example", "", "gold")  # type: ignore[attr-defined]
        assert registry.provider_name("acme") == "Acme Bridge"
    assert registry.provider_name("gone") == "gone"
