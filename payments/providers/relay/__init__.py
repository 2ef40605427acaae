"""The routing provider Relay (https://docs.relay.link)."""

from payments.providers.base import RoutingProvider


def make(api_url: str, api_key: str) -> RoutingProvider:
    from payments.providers.relay.client import RelayProvider

    return RelayProvider(api_url, api_key)
