"""Validate amounts before they are sent: exact decimals, never floats."""

from decimal import Decimal


def decimal_string(amount: object) -> str:
    """Return `amount` as the API expects it: a decimal string in whole units of the token.

    Raises TypeError unless `amount` is a string or a Decimal. Raises ValueError for a Decimal that is not a number. The
    service checks everything else, such as the number of decimals.
    """
    if isinstance(amount, str):
        return amount
    if isinstance(amount, Decimal):
        if not amount.is_finite():
            raise ValueError(f"amount should be a number; got {amount}.")
        return format(amount, "f")
    if isinstance(amount, float):
        raise TypeError(
            "amount should be a string or a Decimal, not a float: a float can't hold most decimal amounts exactly "
            '(0.1 + 0.2 is 0.30000000000000004). Write "10.00" or Decimal("10.00").'
        )
    raise TypeError(
        f'amount should be a string or a Decimal such as "10.00", not {type(amount).__name__}: '
        "it is in whole units of the token, not in its smallest unit."
    )
