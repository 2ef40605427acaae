"""The database stores base units exactly. It rejects other values, even from SQL that bypasses the code."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError, connection, transaction

from chains.fields import BaseUnitsField
from payments.models import PaymentRequest
from tests.conftest import Api

EXACT = [1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**128 + 1, 10**77 + 1, 2**256 - 1]


@pytest.fixture
def request_id(api: Api, order: Callable[..., dict[str, Any]]) -> str:
    return str(api.post("/api/payment-requests", order()).json()["id"])


def write(column: str, value: str, request_id: str) -> None:
    """Set the column with plain SQL in a separate transaction."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE payments_paymentrequest SET {column} = {value} WHERE id = %s", [request_id])


@pytest.mark.parametrize("units", EXACT)
def test_every_size_is_stored_to_the_last_unit(request_id: str, units: int) -> None:
    PaymentRequest.objects.filter(pk=request_id).update(amount=units, amount_paid=units)
    stored = PaymentRequest.objects.get(pk=request_id)
    assert (stored.amount, stored.amount_paid) == (units, units)
    assert type(stored.amount) is int
    assert PaymentRequest.objects.filter(amount=units, amount__gte=units).exists()
    assert not PaymentRequest.objects.filter(amount__gt=units).exists()
    with connection.cursor() as cursor:
        cursor.execute("SELECT amount::text FROM payments_paymentrequest WHERE id = %s", [request_id])
        assert cursor.fetchone() == (str(units),)


@pytest.mark.parametrize(
    "value",
    [
        str(2**256),
        str(-1),
        "'NaN'",
        "'Infinity'",
    ],
)
@pytest.mark.parametrize("column", ["amount", "amount_paid"])
def test_database_rejects_a_value_that_is_no_uint256(request_id: str, column: str, value: str) -> None:
    before = PaymentRequest.objects.values("amount", "amount_paid").get(pk=request_id)
    with pytest.raises(DatabaseError):
        write(column, value, request_id)
    assert PaymentRequest.objects.values("amount", "amount_paid").get(pk=request_id) == before


def test_database_rejects_a_request_for_zero(request_id: str) -> None:
    with pytest.raises(DatabaseError, match="amount_is_positive"):
        write("amount", "0", request_id)
    assert PaymentRequest.objects.get(pk=request_id).amount == 10_500_000


@pytest.mark.parametrize("value", [1.0, 0.1, float("nan")])
def test_a_float_never_becomes_base_units(value: float) -> None:
    with pytest.raises(TypeError):
        BaseUnitsField().to_python(value)


@pytest.mark.parametrize("value", [Decimal("1.5"), "0.1", Decimal("1E-1")])
def test_fraction_is_rejected_not_truncated(value: object) -> None:
    with pytest.raises(ValueError, match="whole"):
        BaseUnitsField().to_python(value)


def test_nan_is_rejected() -> None:
    with pytest.raises(ValidationError):
        BaseUnitsField().to_python(Decimal("NaN"))


@pytest.mark.parametrize(
    ("value", "units"), [(Decimal("1.0"), 1), ("12", 12), (Decimal("1E+3"), 1000), (7, 7), (None, None)]
)
def test_whole_numbers_in_other_clothes_are_taken(value: object, units: int | None) -> None:
    assert BaseUnitsField().to_python(value) == units
