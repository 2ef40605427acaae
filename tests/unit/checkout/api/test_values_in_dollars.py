"""US dollar values in the public API are rounded to the cent, but a positive value is never shown as zero."""

from decimal import Decimal

import pytest

from checkout.api.route_objects import usd_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        ("0", "0.00"),
        ("12.5", "12.50"),
        ("0.0149", "0.01"),
        ("0.0099", "0.0099"),
        ("0.00098765", "0.00099"),
        ("0.00000012345", "0.00000012"),
        (
            "115792089237316195423570985008687907853269.984665",
            "115792089237316195423570985008687907853269.98",
        ),
    ],
)
def test_value_is_text_to_the_cent_or_two_digits(value: str | None, text: str | None) -> None:
    assert usd_text(None if value is None else Decimal(value)) == text
