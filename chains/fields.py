"""A model field for base units: exact integers from 0 to 2^256 - 1."""

from decimal import Decimal
from typing import Any, TypeVar

from django.db import models
from django.db.models import Q

_Set = TypeVar("_Set", contravariant=True)
_Get = TypeVar("_Get", covariant=True)

UINT256_MAX = 2**256 - 1
UINT64_MAX = 2**64 - 1


class BaseUnitsField(models.DecimalField[_Set, _Get]):
    """An amount in a token's smallest unit:

    NUMERIC(78, 0) in the database, `int` in Python. Add `base_units_constraint` too, because the column alone accepts
    NaN and 2^256.
    """

    _pyi_private_set_type: int
    _pyi_private_get_type: int  # type: ignore[assignment]

    def __init__(self, *args: Any, **options: Any) -> None:
        options["max_digits"] = 78
        options["decimal_places"] = 0
        super().__init__(*args, **options)

    def deconstruct(self) -> Any:
        name, path, args, options = super().deconstruct()
        del options["max_digits"], options["decimal_places"]
        return name, path, args, options

    def from_db_value(self, value: Decimal | None, expression: Any, connection: Any) -> int | None:  # noqa: ARG002
        return None if value is None else int(value)

    def to_python(self, value: Any) -> Any:
        # A float may already be rounded.
        if value is None or isinstance(value, int):
            return value
        if isinstance(value, float):
            raise TypeError("base units are never floats")
        number = super().to_python(value)
        if number != number.to_integral_value():
            raise ValueError("base units are whole numbers")
        return int(number)

    def get_prep_value(self, value: Any) -> Any:
        value = self.to_python(value)
        return None if value is None else Decimal(value)


def base_units_constraint(field: str, model: str) -> models.CheckConstraint:
    """Return the CHECK that limits `field` to uint256. NaN fails it too, because PostgreSQL sorts NaN above every
    number.
    """
    limits = Q(**{f"{field}__gte": 0}) & Q(**{f"{field}__lte": UINT256_MAX})
    return models.CheckConstraint(
        condition=limits | Q(**{f"{field}__isnull": True}), name=f"{model}_{field}_is_uint256"
    )
