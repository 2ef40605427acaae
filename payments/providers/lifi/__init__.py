"""The routing provider LI.FI (https://docs.li.fi)."""

from payments.providers.base import RoutingProvider


def make(api_url: str, api_key: str, integrator: str) -> RoutingProvider:
    """Return a client for LI.FI at `api_url` that identifies itself as `integrator`; `api_key` may be empty."""
    from payments.providers.lifi.client import LifiProvider

    return LifiProvider(api_url, api_key, integrator)
