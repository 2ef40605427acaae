"""The configured routing providers, in the order in which they are called.

`config.environment.providers` reads their settings. No other module names a provider.
"""

from functools import lru_cache
from importlib import import_module

from django.conf import settings

from payments.providers.base import RoutingProvider


def get_provider(key: str) -> RoutingProvider:
    """Return the provider `key`, even if it is disabled for new routes. Raises KeyError if unknown."""
    return _client(key, tuple(getattr(settings, name) for name in settings.ROUTING_PROVIDER_SETTINGS[key]))


def provider_name(key: str) -> str:
    """Return the provider's display name, or its key if its folder was removed."""
    return str(settings.ROUTING_PROVIDER_NAMES.get(key, key))


def providers_in_order() -> list[RoutingProvider]:
    return [get_provider(key) for key in settings.ROUTING_PROVIDERS]


def forget() -> None:
    """Discard the cached clients and their circuit breakers."""
    _client.cache_clear()


# Changed settings create a new client.
@lru_cache(maxsize=8)
def _client(key: str, values: tuple[str, ...]) -> RoutingProvider:
    provider: RoutingProvider = import_module(f"{__package__}.{key}").make(*values)
    return provider
