"""A refund's transaction is searched for 30 days after the refund was built or its page was read."""

from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from payments.discovery.watches import by_merchant, watched
from payments.models import MerchantCursor, PaymentRequest, Refund
from payments.refunds import services
from payments.refunds.watching import WATCHED_FOR, keep_watching
from tests.conftest import Api
from tests.support.portal.refund_rows import OTHER, WHY, carrier_of, create, fresh, pay

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def is_watched(request: PaymentRequest, at: datetime) -> bool:
    """Whether a search at this time includes the request, if there was no search for a while."""
    MerchantCursor.objects.update_or_create(
        chain=request.chain, merchant=request.merchant, defaults={"searched_at": at}
    )
    return request in watched(request.chain, at)


def test_refund_nobody_saw_is_not_watched(paid: PaymentRequest) -> None:
    assert not is_watched(carrier_of(create(paid)), timezone.now())


def test_shown_refund_is_watched_for_thirty_days(paid: PaymentRequest) -> None:
    carrier = carrier_of(create(paid))
    assert Client().get(f"/pay/{carrier.shortcode}").status_code == 200
    PaymentRequest.objects.filter(pk=carrier.pk).update(link_shown_at=timezone.now())
    assert is_watched(carrier, timezone.now() + WATCHED_FOR - DAY)
    assert not is_watched(carrier, timezone.now() + WATCHED_FOR + DAY)


def test_built_refund_is_watched_for_thirty_days(paid: PaymentRequest) -> None:
    refund = create(paid)
    carrier = carrier_of(refund)
    services.reserve_to_send(carrier, actor=WHY)
    PaymentRequest.objects.filter(pk=carrier.pk).update(link_shown_at=timezone.now())
    assert is_watched(carrier, timezone.now() + WATCHED_FOR - DAY)
    assert not is_watched(carrier, timezone.now() + WATCHED_FOR + DAY)


@pytest.mark.parametrize("read", ["api", "claim page", "sign page"])
def test_reading_a_forgotten_refund_watches_it_again(api: Api, paid: PaymentRequest, read: str) -> None:
    refund = create(paid)
    carrier = carrier_of(refund)
    PaymentRequest.objects.filter(pk=carrier.pk).update(link_shown_at=timezone.now())
    Refund.objects.update(watched_until=timezone.now() - DAY)
    assert not is_watched(carrier, timezone.now())
    if read == "api":
        assert api.get(f"/api/refunds/{refund.pk}").status_code == 200
    else:
        path = f"/refunds/{refund.code}" if read == "claim page" else f"/pay/{carrier.shortcode}"
        assert Client().get(path).status_code == 200
    assert is_watched(carrier, timezone.now() + WATCHED_FOR - DAY)


def test_outage_longer_than_the_watch_loses_no_refund(paid: PaymentRequest) -> None:
    refund = create(paid)
    carrier = carrier_of(refund)
    PaymentRequest.objects.filter(pk=carrier.pk).update(link_shown_at=timezone.now())
    keep_watching(refund)
    MerchantCursor.objects.create(
        chain=carrier.chain, merchant=carrier.merchant, searched_at=timezone.now() + DAY
    )
    assert carrier in watched(carrier.chain, timezone.now() + WATCHED_FOR + DAY)


def test_search_after_a_gap_begins_when_the_refund_is_read(paid: PaymentRequest) -> None:
    refund = create(paid)
    carrier = carrier_of(refund)
    shown_at = timezone.now() - 90 * DAY
    PaymentRequest.objects.filter(pk=carrier.pk).update(link_shown_at=shown_at)
    Refund.objects.update(watched_from=shown_at, watched_until=timezone.now() - DAY)
    keep_watching(fresh(refund))
    [watching] = by_merchant(watched(carrier.chain, timezone.now())).values()
    assert watching.oldest == fresh(refund).watched_from
    assert timezone.now() - watching.oldest < DAY


def test_renewed_watch_keeps_its_beginning(paid: PaymentRequest) -> None:
    refund = create(paid)
    carrier = carrier_of(refund)
    began = timezone.now() - 20 * DAY
    PaymentRequest.objects.filter(pk=carrier.pk).update(link_shown_at=began - DAY)
    Refund.objects.update(watched_from=began, watched_until=timezone.now() + DAY)
    keep_watching(fresh(refund))
    assert is_watched(carrier, timezone.now() + WATCHED_FOR - DAY)
    [watching] = by_merchant(watched(carrier.chain, timezone.now())).values()
    assert watching.oldest == began


def test_repeated_reading_writes_once_an_hour(paid: PaymentRequest) -> None:
    refund = create(paid)
    keep_watching(refund)
    first = fresh(refund).watched_until
    keep_watching(fresh(refund))
    assert fresh(refund).watched_until == first


def test_old_address_stays_watched_after_a_change(api: Api, paid: PaymentRequest) -> None:
    refund = create(paid)
    carrier = carrier_of(refund)
    PaymentRequest.objects.filter(pk=carrier.pk).update(link_shown_at=timezone.now())
    keep_watching(refund)
    services.change_address(fresh(refund), OTHER, actor=WHY)
    assert is_watched(carrier, timezone.now() + WATCHED_FOR - DAY)


def test_completed_refund_is_not_watched_longer_by_reading(api: Api, paid: PaymentRequest) -> None:
    refund = create(paid)
    pay(carrier_of(refund), refund.amount)
    api.get(f"/api/refunds/{refund.pk}")
    Client().get(f"/refunds/{refund.code}")
    assert fresh(refund).watched_until is None
