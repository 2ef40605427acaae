"""The part of a day's budget that a relay may use."""

import pytest

from payments.sponsoring.terms import has_room


def room(cost: int, *, spent: int = 0, of_merchant: int = 0, of_request: int = 0) -> bool:
    return has_room(cost, budget=10_000, spent=spent, of_merchant=of_merchant, of_request=of_request)


@pytest.mark.parametrize(("cost", "fits"), [(0, True), (100, True), (101, False)])
def test_request_gets_a_hundredth_of_the_budget(cost: int, fits: bool) -> None:
    assert room(cost) is fits


def test_share_is_of_what_others_left() -> None:
    assert room(50, spent=5_000)
    assert not room(51, spent=5_000)


def test_requests_own_relays_count_toward_its_share() -> None:
    assert room(40, spent=60, of_merchant=60, of_request=60)
    assert not room(41, spent=60, of_merchant=60, of_request=60)


def test_merchant_gets_half_of_what_others_left() -> None:
    assert room(1, spent=4_999, of_merchant=4_999)
    assert not room(2, spent=4_999, of_merchant=4_999)
    assert room(1, spent=7_000, of_merchant=2_000)


def test_nothing_fits_beyond_the_budget() -> None:
    assert not room(1, spent=10_000)
    assert not room(1, spent=12_000)
