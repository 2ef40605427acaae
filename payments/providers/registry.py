"""Which routing providers there are, and in which order this deployment asks them (contract 10).

Adding one means adding a class that satisfies `payments.providers.base.RoutingProvider` and a line to `_MAKERS`; the
catalogue then pins its routers on each chain.
"""

from collections.abc import Callable
from functools import lru_cache

from django.conf import settings

from payments.providers.base import RoutingProvider


def get_provider(key: str) -> RoutingProvider:
    """Return the provider `key`, asked for new routes or not. Raises KeyError where there is none."""
    return _MAKERS[key]()


def providers_in_order() -> list[RoutingProvider]:
    """Return the providers that this deployment asks, the first to be asked first."""
    return [get_provider(key) for key in settings.ROUTING_PROVIDERS]


def forget() -> None:
    """Make each provider anew at its next use; what this process knew of how well it answers is forgotten."""
    _made_lifi.cache_clear()
    _made_relay.cache_clear()


def _lifi() -> RoutingProvider:
    return _made_lifi(settings.LIFI_API_URL, settings.LIFI_API_KEY, settings.LIFI_INTEGRATOR)


def _relay() -> RoutingProvider:
    return _made_relay(settings.RELAY_API_URL, settings.RELAY_API_KEY)


# One of each is kept for its connections, and for what it has come to know; made anew where a setting differs.
@lru_cache(maxsize=4)
def _made_lifi(api_url: str, api_key: str, integrator: str) -> RoutingProvider:
    from payments.providers.lifi.client import LifiProvider

    return LifiProvider(api_url, api_key, integrator)


@lru_cache(maxsize=4)
def _made_relay(api_url: str, api_key: str) -> RoutingProvider:
    from payments.providers.relay.client import RelayProvider

    return RelayProvider(api_url, api_key)


_MAKERS: dict[str, Callable[[], RoutingProvider]] = {"lifi": _lifi, "relay": _relay}
