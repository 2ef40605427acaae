"""Search payments, requests and refunds. Every search uses an index.

The text may be an id, an order number, a transaction hash or an address. The text may also be the URL of a checkout
page or of an explorer's page. Each possible meaning is a small query of its own: one query with OR would scan the
tables.
"""

import re
import uuid
from collections.abc import Iterator

from django.db.models import Q, QuerySet

from chains.families import HashError, families
from chains.models import Chain
from merchants.identifiers import parse_uuid
from merchants.staff.records import MAX_FOUND, found_by
from payments.models import ConsumedTransfer, Lookup, Payment, PaymentRequest, Refund, Transition

_FEWEST_FOR_A_PREFIX = 4
_REQUEST_ID_START = re.compile(r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]{0,4}){0,3}(-?[0-9a-fA-F]{0,11})?")
_PAYMENT_ID = re.compile(r"pay_[1-9A-Za-z]{0,24}")


def hashes(text: str) -> list[str]:
    """Return the text as canonical transaction hashes: at most one for each chain family."""
    spellings = []
    for family in families().values():
        try:
            spellings.append(family.normalise_transaction_hash(text))
        except HashError:
            continue
    return spellings


def address(text: str) -> str:
    """Return the address in its canonical form, or "" if the text is not an address. EVM addresses may have any
    letter case.
    """
    spelled = (family.find_address(text) for family in families().values())
    return next((address for address in spelled if address), "")


def request_ids_beginning(text: str) -> tuple[uuid.UUID, uuid.UUID] | None:
    """Return the lowest and the highest request id that begin with `text`. Return None if no id can begin with it."""
    if not _REQUEST_ID_START.fullmatch(text):
        return None
    digits = text.replace("-", "")
    return uuid.UUID(digits.ljust(32, "0")), uuid.UUID(digits.ljust(32, "f"))


def matching_requests(rows: QuerySet[PaymentRequest], text: str) -> QuerySet[PaymentRequest]:
    """Return requests by id, shortcode, order number, transaction or wallet. Ids, shortcodes and order numbers also
    match by prefix.
    """
    return found_by(rows, (rows.filter(condition) for condition in _requests_named(text)))


def _requests_named(text: str) -> Iterator[Q]:
    yield Q(external_id=text)
    yield Q(shortcode=text)
    if len(text) >= _FEWEST_FOR_A_PREFIX:
        yield Q(external_id__startswith=text)
        yield Q(shortcode__startswith=text)
    if (own_id := parse_uuid(text)) is not None:
        yield Q(pk=own_id)
    elif bounds := request_ids_beginning(text):
        yield Q(pk__range=bounds)
    if _PAYMENT_ID.fullmatch(text):
        yield _paid_by(Payment.objects.filter(pk__startswith=text))
    if spellings := hashes(text):
        yield _paid_by(Payment.objects.filter(transaction_hash__in=spellings))
        yield _paid_by(_delivered_by(spellings))
    if wallet := address(text):
        yield Q(recipient_address=wallet)
        yield _paid_by(Payment.objects.filter(from_address=wallet).order_by("-created_at"))


def _paid_by(payments: QuerySet[Payment]) -> Q:
    return Q(pk__in=list(payments.values_list("request_id", flat=True)[:MAX_FOUND]))


def _delivered_by(spellings: list[str]) -> QuerySet[Payment]:
    """Return the swaps that were delivered by these transactions.

    `of_swap__isnull=False` is redundant, but lets PostgreSQL use the partial index.
    """
    lookups = Lookup.objects.filter(transaction_hash__in=spellings, of_swap__isnull=False)
    return Payment.objects.filter(pk__in=list(lookups.values_list("of_swap", flat=True)[:MAX_FOUND]))


def matching_payments(rows: QuerySet[Payment], text: str) -> QuerySet[Payment]:
    """Return payments by id, transaction, sender, recipient or request."""
    return found_by(rows, (rows.filter(condition) for condition in _payments_named(text)))


def _payments_named(text: str) -> Iterator[Q]:
    if _PAYMENT_ID.fullmatch(text):
        yield Q(pk__startswith=text)
    if spellings := hashes(text):
        yield Q(transaction_hash__in=spellings)
        yield Q(pk__in=list(_delivered_by(spellings).values_list("pk", flat=True)))
    if wallet := address(text):
        yield Q(from_address=wallet)
        yield Q(request__recipient_address=wallet)
    if (of_request := parse_uuid(text)) is not None:
        yield Q(request=of_request)
    elif bounds := request_ids_beginning(text):
        yield Q(request__gte=bounds[0], request__lte=bounds[1])
    yield Q(request__external_id=text)
    yield Q(request__shortcode=text)
    if len(text) >= _FEWEST_FOR_A_PREFIX:
        yield Q(request__external_id__startswith=text)
        yield Q(request__shortcode__startswith=text)


def matching_refunds(rows: QuerySet[Refund], text: str) -> QuerySet[Refund]:
    """Return refunds by id, wallet, transaction or request."""
    return found_by(rows, (rows.filter(condition) for condition in _refunds_named(text)))


def _refunds_named(text: str) -> Iterator[Q]:
    yield Q(pk=text)
    yield Q(request__shortcode=text)
    yield Q(request__external_id=text)
    if (of_request := parse_uuid(text)) is not None:
        yield Q(request=of_request)
    if spellings := hashes(text):
        sent = Payment.objects.filter(transaction_hash__in=spellings, request__is_refund=True)
        yield Q(carrier__in=list(sent.values_list("request_id", flat=True)[:MAX_FOUND]))
    if wallet := address(text):
        yield Q(recipient_address=wallet)


def matching_transfers(rows: QuerySet[ConsumedTransfer], text: str) -> QuerySet[ConsumedTransfer]:
    # The index is on (chain, hash), so the query lists all chains.
    chain_ids = list(Chain.objects.values_list("pk", flat=True))
    named = [rows.filter(payment=text)]
    if spellings := hashes(text):
        named.append(rows.filter(chain__in=chain_ids, transaction_hash__in=spellings))
    return found_by(rows, iter(named))


def matching_transitions(rows: QuerySet[Transition], text: str) -> QuerySet[Transition]:
    named = [
        rows.filter(payment=text),
        rows.filter(request__shortcode=text),
        rows.filter(request__external_id=text),
    ]
    if spellings := hashes(text):
        paid_by = Payment.objects.filter(transaction_hash__in=spellings).values_list("pk", flat=True)
        named.append(rows.filter(payment__in=list(paid_by[:MAX_FOUND])))
    if (of_request := parse_uuid(text)) is not None:
        named.append(rows.filter(request=of_request))
    return found_by(rows, iter(named))
