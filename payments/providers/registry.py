"""The configured routing providers, in the order of their use.

`config.environment.providers` reads their settings. No other module names a provider.
"""

from functools import lru_cache
from importlib import import_module

from django.conf import settings

from payments.providers.base import RoutingProvider


def get_provider(key: str) -> RoutingProvider:
    """Return the provider's client, even if the provider is not used for new routes.

    Raises KeyError if the key is unknown.
    """
    return _client(key, tuple(getattr(settings, name) for name in settings.ROUTING_PROVIDER_SETTINGS[key]))


def provider_name(key: str) -> str:
    """Return the display name. If the provider's folder was removed, return its key."""
    return str(settings.ROUTING_PROVIDER_NAMES.get(key, key))


def providers_in_order() -> list[RoutingProvider]:
    return [get_provider(key) for key in settings.ROUTING_PROVIDERS]


def forget() -> None:
    """Drop the cached clients with their circuit breakers."""
    _client.cache_clear()


# The settings are part of the cache's key: changed settings make a new client.
@lru_cache(maxsize=8)
def _client(key: str, values: tuple[str, ...]) -> RoutingProvider:
    provider: RoutingProvider = import_module(f"{__package__}.{key}").make(*values)
    return provider
