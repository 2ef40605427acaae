"""The fees of the gas account's transactions: to replace one, to be sufficient, or too low."""

import pytest

from chains.families.evm.authorizations import gas_account


def dynamic(max_fee: int, tip: int) -> dict[str, str]:
    return {"gas": hex(100_000), "maxFeePerGas": hex(max_fee), "maxPriorityFeePerGas": hex(tip)}


def test_raised_fees_are_an_eighth_higher_or_current() -> None:
    raised = gas_account.raised(dynamic(1_000, 100), dynamic(5_000, 10))
    assert (int(raised["maxFeePerGas"], 16), int(raised["maxPriorityFeePerGas"], 16)) == (5_000, 114)


@pytest.mark.parametrize(
    ("max_fee", "tip", "is_ample"), [(3_000, 300, True), (2_999, 300, False), (3_000, 299, False)]
)
def test_fees_three_times_the_current_ones_are_ample(max_fee: int, tip: int, is_ample: bool) -> None:  # noqa: FBT001
    assert gas_account.is_ample(dynamic(max_fee, tip), dynamic(1_000, 100)) is is_ample


def test_gas_price_of_an_older_chain_is_ample_too() -> None:
    old, current = {"gasPrice": hex(3_000)}, {"gasPrice": hex(1_000)}
    assert gas_account.is_ample(old, current)
    assert not gas_account.is_ample({"gasPrice": hex(2_999)}, current)


def test_capped_fees_cost_at_most_what_is_reserved() -> None:
    # The base fee is 1,000 and the tip is 100. A maximum of 1,375 allows for two full blocks.
    capped = gas_account.capped(dynamic(2_100, 100), 1_375 * 100_000)
    assert capped == dynamic(1_375, 100)
    assert gas_account.max_cost(capped) == 1_375 * 100_000


def test_fees_below_the_next_blocks_are_not_offered() -> None:
    assert gas_account.capped(dynamic(2_100, 100), 1_374 * 100_000) is None
    assert gas_account.capped({"gas": hex(100_000), "gasPrice": hex(1_000)}, 1_249 * 100_000) is None
    assert gas_account.capped(dynamic(2_100, 100), -1) is None
