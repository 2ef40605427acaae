"""Members can get notices of the first payment and of new cases that need attention, at most one e-mail an hour."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from merchants.models import Mail, Merchant, NoticeWatch, StaffMembership
from merchants.staff.roles import Role, assign_role
from payments import notices
from payments.notices import EVERY, PAUSE, check_notices
from payments.stats.daily import update_statistics
from tests.support.payments.credits import expire
from tests.support.payments.credits import pay_tenths as pay
from tests.support.portal.payment_rows import Make
from tests.support.portal.staff import Staff
from tests.support.webhooks.fixtures import Clock

pytestmark = pytest.mark.django_db


@pytest.fixture
def now() -> Clock:
    return Clock()


@pytest.fixture
def owner(merchant: Merchant) -> Staff:
    """An owner who gets both kinds of notices. The merchant has been checked once."""
    staff = Staff("olga", Role.OWNER, merchant)
    staff.client.post("/admin/notices/", {"notices": ["first_payment", "attention"]})
    return staff


def mailed(now: Clock, after: timedelta = EVERY) -> list[str]:
    """Run a check after this time; return the subjects of its notices."""
    now.forward(after + timedelta(seconds=1))
    Mail.objects.all().delete()
    check_notices(now=now)
    return sorted(Mail.objects.values_list("subject", flat=True))


def overpay(make: Make) -> None:
    pay(make(), 12)


def test_new_case_is_told_once_with_its_label(make: Make, owner: Staff, now: Clock) -> None:
    assert mailed(now) == []
    overpay(make)
    assert mailed(now) == ["Alice's Bakery: a payment needs attention"]
    assert "Overpaid: 1" in Mail.objects.get().text
    assert Mail.objects.get().recipient == "olga@example.com"
    assert mailed(now, PAUSE) == []


def test_case_before_the_first_check_is_no_news(make: Make, owner: Staff, now: Clock) -> None:
    overpay(make)
    assert mailed(now) == []
    assert mailed(now) == []


def test_many_cases_of_an_hour_are_one_mail(make: Make, owner: Staff, now: Clock) -> None:
    mailed(now)
    overpay(make)
    mailed(now)
    overpay(make)
    overpay(make)
    assert mailed(now) == []
    assert mailed(now, PAUSE) == ["Alice's Bakery: 2 payments need attention"]


def test_case_while_no_member_wants_notices_is_no_news(make: Make, owner: Staff, now: Clock) -> None:
    mailed(now)
    owner.client.post("/admin/notices/", {"notices": ["sign_in"]})
    overpay(make)
    assert mailed(now) == []
    assert NoticeWatch.objects.get().known is None
    owner.client.post("/admin/notices/", {"notices": ["attention"]})
    assert mailed(now) == []
    overpay(make)
    assert mailed(now) != []


def test_reactivated_member_gets_notices_again(make: Make, owner: Staff, now: Clock) -> None:
    mailed(now)
    User.objects.update(is_active=False)
    overpay(make)
    assert mailed(now) == []
    User.objects.update(is_active=True)
    assert mailed(now) == []
    overpay(make)
    assert mailed(now) == ["Alice's Bakery: a payment needs attention"]


def test_choice_during_a_check_keeps_its_watch(
    make: Make, owner: Staff, now: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    mailed(now)
    owner.client.post("/admin/notices/", {"notices": []})

    def choose_meanwhile(*_: object) -> bool:
        owner.client.post("/admin/notices/", {"notices": ["attention"]})
        return False

    with monkeypatch.context() as patch:
        patch.setattr(notices, "are_wanted", choose_meanwhile)
        mailed(now)
    assert mailed(now) == []
    overpay(make)
    assert mailed(now) == ["Alice's Bakery: a payment needs attention"]


def test_member_moved_to_another_merchant_gets_its_notices(
    make: Make, owner: Staff, merchant: Merchant, other_merchant: Merchant, now: Clock
) -> None:
    Staff("otto", Role.OWNER, merchant)
    assign_role(owner.user, Role.OWNER, other_merchant)
    assert mailed(now) == []
    pay(make(owner=other_merchant), 12)
    assert mailed(now) == [f"{other_merchant}: a payment needs attention"]


def test_saving_the_same_choice_restarts_a_lost_watch(owner: Staff, merchant: Merchant) -> None:
    NoticeWatch.objects.all().delete()
    owner.client.post("/admin/notices/", {"notices": ["first_payment", "attention"]})
    assert NoticeWatch.objects.get().merchant == merchant


def test_other_merchants_cases_are_not_told(
    make: Make, owner: Staff, other_merchant: Merchant, now: Clock
) -> None:
    mailed(now)
    pay(make(owner=other_merchant), 12)
    assert mailed(now) == []


def test_first_payment_is_told_once(make: Make, owner: Staff, now: Clock) -> None:
    assert mailed(now) == []
    request = make()
    pay(request, 10)
    update_statistics()
    assert mailed(now) == ["Alice's Bakery: your first payment arrived"]
    assert f"Amount:  10.50 USDC on Base\n    Request: {request.shortcode}" in Mail.objects.get().text
    pay(make(), 10)
    update_statistics()
    assert mailed(now) == []


def test_first_payment_before_the_choice_is_no_news(make: Make, owner: Staff, now: Clock) -> None:
    pay(make(), 10)
    update_statistics()
    assert mailed(now) == []
    assert mailed(now) == []


def test_payment_after_its_price_has_its_own_mail(make: Make, owner: Staff, now: Clock) -> None:
    StaffMembership.objects.update(notices=["attention"])
    mailed(now)
    request = make()
    type(request).objects.filter(pk=request.pk).update(
        price={"amount": "10.00", "currency": "EUR"},
        rate={
            "value": "0.95",
            "currency": "EUR",
            "token": "USDC",
            "sources": [],
            "at": "2026-11-01T00:00:00Z",
        },
    )
    request.refresh_from_db()
    expire(request)
    pay(request, 10)
    assert mailed(now) == []
