from datetime import timedelta

import pytest
from django.utils import timezone

from merchants.mail import doctor
from merchants.mail.outbox import enqueue
from merchants.models import Mail, Merchant
from tests.support.operations.findings import levels

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("minutes", "level"), [(None, "ok"), (1, "ok"), (10, "warning"), (90, "failed")])
def test_mails_that_wait_too_long_are_reported(merchant: Merchant, minutes: int | None, level: str) -> None:
    if minutes is not None:
        enqueue(merchant, Mail.RECEIPT, "customer@example.net", "Receipt", "Paid.")
        Mail.objects.update(created_at=timezone.now() - timedelta(minutes=minutes))
    assert levels(doctor.check()) == {"e-mails": level}
    assert "example.net" not in str(list(doctor.check()))
