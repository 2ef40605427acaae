"""The routing provider LI.FI (https://docs.li.fi)."""

from payments.providers.base import RoutingProvider


def make(api_url: str, api_key: str, integrator: str) -> RoutingProvider:
    from payments.providers.lifi.client import LifiProvider

    return LifiProvider(api_url, api_key, integrator)
