"""The network fee is read from the receipt, or unknown. It is never part of the paid amount."""

from typing import Any

import pytest

from chains.families.evm.transactions.network_fee import network_fee

RECEIPT = {"gasUsed": hex(46_000), "effectiveGasPrice": hex(2 * 10**9)}
FEE = 46_000 * 2 * 10**9


@pytest.mark.parametrize("kind", [None, "0x0", "0x1", "0x2", "0x4"])
def test_it_is_the_gas_at_its_price(kind: str | None) -> None:
    assert network_fee({"type": kind} if kind else {}, RECEIPT) == FEE


def test_what_a_rollup_charges_for_data_is_added() -> None:
    receipt = {**RECEIPT, "l1Fee": hex(7)}
    assert network_fee({"type": "0x2"}, receipt) == FEE + 7
    none = {"operatorFeeScalar": "0x0", "operatorFeeConstant": "0x0"}
    assert network_fee({"type": "0x2"}, {**receipt, **none}) == FEE + 7


@pytest.mark.parametrize(
    ("transaction", "receipt"),
    [
        ({"type": "0x3"}, {}),
        ({"type": "0x7e"}, {}),
        ({"type": "0x2", "feeCurrency": "0x" + "1" * 40}, {}),
        ({"type": 2}, {}),
        ({}, {"gasUsed": None}),
        ({}, {"effectiveGasPrice": "cheap"}),
        ({}, {"effectiveGasPrice": hex(2**200)}),
        ({}, {"l1Fee": 7}),
        ({"type": "0x2"}, {"l1Fee": "0x7", "operatorFeeScalar": "0x1", "operatorFeeConstant": "0x0"}),
        ({"type": "0x2"}, {"l1Fee": "0x7", "operatorFeeScalar": "0x0", "operatorFeeConstant": "0x1"}),
    ],
)
def test_it_is_unknown_where_the_receipt_does_not_show_all_of_it(
    transaction: dict[str, Any], receipt: dict[str, Any]
) -> None:
    assert network_fee(transaction, {**RECEIPT, **receipt}) is None
