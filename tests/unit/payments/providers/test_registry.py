"""The deployment's settings choose the providers and their order."""

import pytest
from django.test import override_settings

from payments.providers.lifi.client import LifiProvider
from payments.providers.registry import get_provider, providers_in_order
from payments.providers.relay.client import RelayProvider


def test_providers_have_the_order_of_the_setting() -> None:
    with override_settings(ROUTING_PROVIDERS=["lifi", "relay"]):
        assert [provider.key for provider in providers_in_order()] == ["lifi", "relay"]
    with override_settings(ROUTING_PROVIDERS=["relay", "lifi"]):
        assert [provider.key for provider in providers_in_order()] == ["relay", "lifi"]
    with override_settings(ROUTING_PROVIDERS=[]):
        assert providers_in_order() == []


def test_disabled_provider_still_tracks_its_swaps() -> None:
    with override_settings(ROUTING_PROVIDERS=["relay"]):
        assert isinstance(get_provider("lifi"), LifiProvider)
        assert isinstance(get_provider("relay"), RelayProvider)


def test_there_is_no_other() -> None:
    with pytest.raises(KeyError):
        get_provider("squid")


def test_its_connections_are_kept_until_its_settings_change() -> None:
    kept = get_provider("lifi")
    assert get_provider("lifi") is kept
    with override_settings(LIFI_API_URL="http://127.0.0.1:9/v1"):
        assert get_provider("lifi") is not kept
    assert get_provider("lifi") is kept
