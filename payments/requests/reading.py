"""Read payment requests by their keys. Token, chain and merchant come from copies in the process's memory."""

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from chains.lookup import chain_by_id, token_by_id
from config.api.paging import Cut
from config.database.compiled_query import CompiledQuery
from merchants.lookup import merchant_by_id
from payments.models import Payment, PaymentRequest

_HAS_PAYMENTS = Exists(Payment.objects.filter(request=OuterRef("pk")))
_ID = uuid.UUID(int=1)
_MERCHANT = uuid.UUID(int=2)
_TIMES = [datetime(2001, 1, day, tzinfo=UTC) for day in (1, 2, 3)]
_EXAMPLES: dict[str, Any] = {
    "status": "a status",
    "external_id": "an external id",
    "token_id": 7_777_777,
    "chain_id": 8_888_888,
    "payment_link_id": "a payment link",
    "created_at__gt": _TIMES[0],
    "created_at__lt": _TIMES[1],
}


def _query(**where: Any) -> QuerySet[PaymentRequest]:
    return PaymentRequest.objects.order_by().filter(**where).annotate(has_payments=_HAS_PAYMENTS)


_own: CompiledQuery[PaymentRequest] = CompiledQuery(
    lambda id, merchant: _query(pk=id, merchant_id=merchant, is_refund=False), id=_ID, merchant=_MERCHANT
)
_any: CompiledQuery[PaymentRequest] = CompiledQuery(lambda id: _query(pk=id), id=_ID)
_by_shortcode: CompiledQuery[PaymentRequest] = CompiledQuery(
    lambda shortcode: _query(shortcode=shortcode), shortcode="shortcode"
)


def find_own(merchant_id: uuid.UUID, request_id: uuid.UUID) -> PaymentRequest | None:
    return _complete(_own.first(id=request_id, merchant=merchant_id))


def find_any(request_id: uuid.UUID) -> PaymentRequest | None:
    return _complete(_any.first(id=request_id))


def find_by_shortcode(shortcode: str) -> PaymentRequest | None:
    return _complete(_by_shortcode.first(shortcode=shortcode))


def list_own(merchant_id: uuid.UUID, conditions: Mapping[str, Any], cut: Cut) -> list[PaymentRequest]:
    """Return one page (`cut`) of the merchant's requests. The keys of `conditions` are field lookups."""
    values = dict(conditions)
    is_simulated = values.pop("is_simulated", None)
    lookups = tuple(sorted(values))
    if cut.edge is not None:
        values["edge_time"], values["edge_id"] = cut.edge
    query = _list_query(lookups, is_simulated, cut.backwards, cut.edge is not None, cut.count)
    return with_catalogue(query.rows(merchant=merchant_id, **values))


@lru_cache(maxsize=256)
def _list_query(
    lookups: tuple[str, ...], is_simulated: bool | None, backwards: bool, has_edge: bool, count: int
) -> CompiledQuery[PaymentRequest]:
    # Django writes a boolean condition into the SQL, not as a parameter. So True and False need separate queries.
    flags = {} if is_simulated is None else {"is_simulated": is_simulated}

    def build(merchant: uuid.UUID, **values: Any) -> QuerySet[PaymentRequest]:
        edge = (values["edge_time"], values["edge_id"]) if has_edge else None
        own = PaymentRequest.objects.filter(
            merchant_id=merchant, is_refund=False, **flags, **{name: values[name] for name in lookups}
        )
        return Cut(backwards, edge, count).of(own, "created_at")

    examples = {name: _EXAMPLES[name] for name in lookups}
    if has_edge:
        examples |= {"edge_time": _TIMES[2], "edge_id": _ID}
    return CompiledQuery(build, merchant=_MERCHANT, **examples)


def with_catalogue(requests: list[PaymentRequest]) -> list[PaymentRequest]:
    """Set token, chain and merchant of each request, without a join. Each object is read at most once."""
    tokens = {each: token_by_id(each) for each in {request.token_id for request in requests}}
    chains = {each: chain_by_id(each) for each in {request.chain_id for request in requests}}
    merchants = {each: merchant_by_id(each) for each in {request.merchant_id for request in requests}}
    for request in requests:
        # Write to Django's cache of related objects. Assigning them is slower, because Django checks each
        # object, and a page of a hundred requests has three hundred objects.
        request._state.fields_cache.update(
            token=tokens[request.token_id],
            chain=chains[request.chain_id],
            merchant=merchants[request.merchant_id],
        )
    return requests


def _complete(request: PaymentRequest | None) -> PaymentRequest | None:
    return with_catalogue([request])[0] if request is not None else None
