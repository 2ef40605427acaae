"""The amount that a payment can still be credited with after earlier credits."""

import pytest

from chains.client import Transfer
from payments.verification.consumption import _countable

Earlier = tuple[str, str, int]


def transfer(slot: str, amount: int, gain: int | None = None) -> Transfer:
    account = "vault" if gain is not None else ""
    return Transfer(slot, "mint", "payer", "owner", amount, account=account, gain=gain)


@pytest.mark.parametrize(
    ("transfers", "earlier", "counted"),
    [
        ([transfer("0", 6), transfer("1", 4)], [], {"0": 6, "1": 4}),
        ([transfer("0", 6), transfer("1", 4)], [("0", "", 6)], {"1": 4}),
        ([transfer("0", 6)], [("0", "", 6)], {}),
        ([transfer("0", 6), transfer("0", 6)], [], {"0": 6}),
        ([transfer("0", 6, gain=8), transfer("1", 6, gain=8)], [], {"0": 6, "1": 2}),
        ([transfer("1", 6, gain=8)], [("0", "vault", 5)], {"1": 3}),
        ([transfer("1", 6, gain=8)], [("0", "vault", 8)], {}),
        ([transfer("1", 6, gain=8)], [("0", "another", 8)], {"1": 6}),
        ([transfer("1", 6, gain=8)], [("mint:owner", "", 1)], {}),
        ([transfer("1", 6)], [("mint:owner", "", 1)], {"1": 6}),
    ],
)
def test_credit_is_limited_to_what_is_unused_and_gained(
    transfers: list[Transfer], earlier: list[Earlier], counted: dict[str, int]
) -> None:
    assert {each.slot: each.amount for each in _countable(transfers, earlier)} == counted
