"""The Celery tasks that fetch logos."""

from celery import shared_task

from chains.models import Token
from checkout.logos import fetch_logo, fetch_token_logo
from merchants.models import Merchant


@shared_task
def fetch_merchants_logo(merchant_id: str) -> bool:
    """Fetch and cache a merchant's logo. Return whether there is one."""
    merchant = Merchant.objects.exclude(logo_url="").filter(pk=merchant_id).first()
    return merchant is not None and bool(fetch_logo(merchant).content_type)


@shared_task
def fetch_tokens_logo(token_id: str) -> bool:
    """Fetch and cache a token's logo. Return whether there is one."""
    token = Token.objects.filter(pk=token_id).first()
    return token is not None and bool(fetch_token_logo(token).content_type)
