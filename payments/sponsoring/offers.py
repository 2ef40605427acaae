"""Store what a payer may sign for a sponsored route."""

from datetime import datetime
from typing import Any

from django.db import transaction

from payments.models import Authorization, Route


def store_authorization(
    route: Route, now: datetime, terms: dict[str, Any], *, renewed: dict[str, Any] | None = None
) -> Authorization | None:
    """Store an authorization with these `terms` if the route has none. Return the route's authorization.

    If the route has an authorization already, store the columns `renewed` in it. Return None if the payer has already
    signed that authorization.
    """
    request = route.request
    with transaction.atomic():
        Route.objects.select_for_update(no_key=True).get(pk=route.pk)
        authorization, is_new = Authorization.objects.get_or_create(
            route=route,
            defaults={
                "request": request,
                "merchant": request.merchant,
                "chain": route.chain,
                "token": route.token,
                "payer": route.wallet_address,
                "recipient": request.recipient_address,
                "amount": route.amount,
                **terms,
                **(renewed or {}),
            },
        )
        if renewed and not is_new:
            unsigned = Authorization.objects.filter(pk=authorization.pk, signed_at__isnull=True)
            if not unsigned.update(**renewed):
                return None
        Route.objects.filter(pk=route.pk).update(built_at=now)
    return authorization
