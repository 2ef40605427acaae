"""The shell command that the portal shows beside a new API key."""

from django.conf import settings

from chains.models import Token
from merchants.models import ApiKey, Permission


def trial_call(key: ApiKey) -> str:
    """Return a shell command that tries the key.

    The command makes a call that the key's permissions allow. It reads the key from the environment.
    """
    header = '-H "X-API-Key: $QUITTANCE_API_KEY"'
    if Permission.CREATE_PAYMENTS in key.permissions:
        tokens = Token.objects.filter(is_active=True, chain__is_active=True).select_related("chain")
        # A new user may run this with real money, so choose a small amount of a stablecoin if possible.
        token = tokens.filter(tags__contains=["stablecoin"]).first() or tokens.first()
        token_id, chain_id = (token.pk, token.chain_id) if token else (1, 1)
        return (
            f"curl {settings.BASE_URL}/api/payment-requests \\\n"
            f"  {header} \\\n"
            '  -H "Content-Type: application/json" \\\n'
            f'  -d \'{{"amount": "0.10", "token_id": {token_id}, "chain_id": {chain_id},\n'
            '       "recipient_address": "\'"$YOUR_WALLET"\'"}\''
        )
    reads_webhooks = Permission.MANAGE_WEBHOOKS in key.permissions
    place = "webhooks" if reads_webhooks else "payment-requests/$PAYMENT_REQUEST_ID"
    return f"curl {settings.BASE_URL}/api/{place} \\\n  {header}"
