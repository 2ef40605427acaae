"""Look up a merchant by ID, from the process's cache.

Don't change the returned merchant, because threads share the object (`config.database.process_cache`).
"""

import uuid

from config.database.compiled_query import CompiledQuery
from config.database.process_cache import ProcessCache
from merchants.models import Merchant

_merchant: CompiledQuery[Merchant] = CompiledQuery(
    lambda id: Merchant.objects.order_by().filter(pk=id), id=uuid.UUID(int=1)
)


def merchant_by_id(merchant_id: uuid.UUID) -> Merchant:
    merchant = _merchants.get(merchant_id)
    if merchant is None:
        raise Merchant.DoesNotExist
    return merchant


def _load(merchant_id: uuid.UUID) -> Merchant | None:
    return _merchant.first(id=merchant_id)


_merchants = ProcessCache(_load)
