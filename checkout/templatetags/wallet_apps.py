from typing import Any

from django import template

from checkout.wallets.apps import wallet_apps

register = template.Library()


@register.simple_tag
def apps_for(checkout: dict[str, Any]) -> list[Any]:
    """Return the wallet apps that can open this checkout and pay it."""
    chain = checkout["chain"]
    return list(wallet_apps(checkout["payment_url"], chain["chain_type"], chain["id"]))
