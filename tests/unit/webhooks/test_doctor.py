"""Doctor reports problems with webhooks. The tests cause each problem for real."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from cryptography.fernet import Fernet
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from config.doctor.finding import Level
from merchants.models import Merchant
from tests.support.operations.findings import found, levels
from tests.support.webhooks.receiver import Receiver
from webhooks import doctor
from webhooks.endpoints.configuration import Change, configure
from webhooks.models import Delivery, Endpoint, Event
from webhooks.storage import partitions


@pytest.mark.django_db
def test_partitions_that_run_out_are_named() -> None:
    now = timezone.now()
    partitions.make_ahead(now)
    assert levels(doctor.check_partitions()) == {"partitions": "ok"}
    late = [each for each in partitions.partitions() if each.until > now + timedelta(days=20)]
    with connection.cursor() as cursor:
        for each in late:
            cursor.execute(f"DROP TABLE {each.name}")
    assert levels(doctor.check_partitions()) == {"partitions": "warning"}
    with connection.cursor() as cursor:
        for each in partitions.partitions():
            if each.until > now + timedelta(days=5):
                cursor.execute(f"DROP TABLE {each.name}")
    assert levels(doctor.check_partitions()) == {"partitions": "failed"}
    partitions.make_ahead(now)
    assert levels(doctor.check_partitions()) == {"partitions": "ok"}


@pytest.mark.parametrize(("late", "level"), [(5, "ok"), (90, "warning"), (3600, "failed")])
def test_deliveries_that_wait_for_long_are_named(
    endpoint: Endpoint, record: Callable[..., Event], late: int, level: str
) -> None:
    record()
    Delivery.objects.update(due_at=timezone.now() - timedelta(seconds=late))
    assert levels(doctor.check_queue()) == {"deliveries": level}


def test_deliveries_on_hold_are_not_late(endpoint: Endpoint, record: Callable[..., Event]) -> None:
    record()
    Delivery.objects.update(due_at=timezone.now() - timedelta(hours=1))
    Endpoint.objects.update(is_enabled=False)
    assert levels(doctor.check_queue()) == {"deliveries": "ok"}


def test_secrets_of_a_lost_encryption_key_are_named(endpoint: Endpoint, settings: Settings) -> None:
    assert levels(doctor.check_secrets()) == {"ENCRYPTION_KEYS": "ok"}
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    (summary,) = found(doctor.check_secrets(), Level.FAILED)
    assert "1 of the newest 1 webhook secrets can't be decrypted" in summary


def test_endpoints_that_can_be_connected_to_have_nothing_wrong(
    endpoint: Endpoint, receiver: Receiver
) -> None:
    assert levels(doctor.check_egress()) == {"egress": "ok"}
    assert receiver.received == []


def test_a_way_out_that_is_closed_is_named(endpoint: Endpoint, other_merchant: Merchant) -> None:
    configure(other_merchant, Change(url="http://127.0.0.1:1025/hooks"))
    assert levels(doctor.check_egress()) == {"egress": "warning"}
    Endpoint.objects.filter(pk=endpoint.pk).update(url="http://127.0.0.1:1026/hooks")
    (summary,) = found(doctor.check_egress(), Level.FAILED)
    assert summary == "egress: none of 2 endpoints can be connected to: The connection was refused."


def test_names_that_do_not_resolve_are_named(endpoint: Endpoint) -> None:
    Endpoint.objects.update(url="https://shop.example/hooks")

    def no_dns(host: str) -> list[str]:
        raise OSError("no name server")

    (summary,) = found(doctor.check_egress(resolve=no_dns), Level.FAILED)
    assert "The host name does not resolve." in summary
