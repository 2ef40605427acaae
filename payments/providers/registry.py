"""The routing providers that have a folder here, and the order in which this deployment asks them.

`config.environment.providers` reads their settings. Nothing else names a provider.
"""

from functools import lru_cache
from importlib import import_module

from django.conf import settings

from payments.providers.base import RoutingProvider


def get_provider(key: str) -> RoutingProvider:
    """Return the provider `key`, whether new routes are asked of it or not. Raises KeyError for an unknown one."""
    return _made(key, tuple(getattr(settings, name) for name in settings.ROUTING_PROVIDER_SETTINGS[key]))


def provider_name(key: str) -> str:
    """Return the provider's name for people, or its key if its folder is gone."""
    return str(settings.ROUTING_PROVIDER_NAMES.get(key, key))


def providers_in_order() -> list[RoutingProvider]:
    """Return the providers that this deployment asks, the first to be asked first."""
    return [get_provider(key) for key in settings.ROUTING_PROVIDERS]


def forget() -> None:
    """Create each provider again at its next use; this process forgets how well it answered."""
    _made.cache_clear()


# One of each is kept, with its connections and what it has learned. A changed setting makes a new one.
@lru_cache(maxsize=8)
def _made(key: str, values: tuple[str, ...]) -> RoutingProvider:
    provider: RoutingProvider = import_module(f"{__package__}.{key}").make(*values)
    return provider
