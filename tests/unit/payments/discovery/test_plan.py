"""The requests that share a search, and the block to which a cursor may move after it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from chains.client import SearchLimits
from payments.discovery.plan import Place, Position, Range, advance, is_finished, next_group
from payments.discovery.starts import restarted

LIMITS = SearchLimits(by_block=True, watches=10, searches=20)
EARLIER = datetime(2026, 1, 1, tzinfo=UTC)
NOW = EARLIER + timedelta(hours=1)
LAST = UUID(int=7)


def place(number: int, watches: int = 1, start: int = 100) -> Place:
    return Place(UUID(int=number), Position(start, EARLIER), watches, start)


def range_to(head: int) -> Range:
    return Range(until=head, head=head, began_at=NOW, look_back=20)


def numbers(group: list[Place]) -> list[int]:
    return [member.merchant_id.int for member in group]


def test_the_first_in_the_queue_is_always_served() -> None:
    for first in (place(1, 10), place(1, 500), place(1, start=0), replace(place(1), is_alone=True)):
        assert numbers(next_group([first, place(2), place(3)], LIMITS, None))[0] == 1


def test_those_that_fit_beside_it_share_its_search() -> None:
    queue = [place(1, 4), place(2, 7), place(3, 5), place(4, 1), place(5, 1)]
    assert numbers(next_group(queue, LIMITS, None)) == [1, 3, 4]
    assert numbers(next_group(queue, LIMITS, 2)) == [1, 3]
    assert numbers(next_group(queue, LIMITS, 1)) == [1]


def test_merchant_exceeding_one_search_is_searched_separately() -> None:
    in_pieces = replace(place(2), position=Position(100, EARLIER, until_block=120, after=LAST))
    assert numbers(next_group([place(1, 11), place(2)], LIMITS, None)) == [1]
    assert numbers(next_group([place(1), in_pieces, place(3, 11), place(4)], LIMITS, None)) == [1, 4]
    assert numbers(next_group([in_pieces, place(4)], LIMITS, None)) == [2]


def test_ranges_that_do_not_coincide_are_searched_apart() -> None:
    queue = [place(1, start=100), place(2, start=120), place(3, start=121), place(4, start=80)]
    assert numbers(next_group(queue, LIMITS, None)) == [1, 2, 4]
    assert numbers(next_group(queue, replace(LIMITS, by_block=False), None)) == [1, 2, 3, 4]


def test_complete_search_moves_cursor_to_unsettled_blocks() -> None:
    after = advance(place(1), range_to(150), reach=151, last=None)
    assert after == replace(place(1), position=Position(131, NOW), start=151)
    assert is_finished(after, head=150)


def test_a_search_that_was_cut_short_moves_it_as_far_as_it_went() -> None:
    after = advance(place(1), range_to(150), reach=105, last=None)
    assert after == replace(place(1), position=Position(105, EARLIER), start=105)
    assert not is_finished(after, head=150)


def test_search_cut_short_near_head_moves_only_this_pass() -> None:
    after = advance(place(1), range_to(110), reach=105, last=None)
    assert after == replace(place(1), position=Position(100, EARLIER), start=105)


def test_search_ending_before_merchants_range_returns_none() -> None:
    assert advance(place(1), range_to(110), reach=100, last=None) is None
    assert advance(place(1), range_to(110), reach=90, last=None) is None


def test_no_answer_moves_the_cursor_beyond_the_range() -> None:
    assert advance(place(1), range_to(150), reach=10**9, last=None) == advance(
        place(1), range_to(150), 151, None
    )


def test_a_cursor_never_goes_back() -> None:
    after = advance(place(1), range_to(105), reach=106, last=None)
    assert after == replace(place(1), position=Position(100, NOW), start=106)


def test_cursor_waits_until_all_merchant_watches_are_searched() -> None:
    first = advance(place(1, 25), range_to(150), reach=151, last=LAST)
    assert first is not None
    assert (first.start, first.position) == (100, Position(100, EARLIER, 150, LAST, 150, NOW))
    second = advance(first, range_to(150), reach=151, last=None)
    assert second is not None
    assert second.position == Position(131, NOW)


def test_range_cut_short_for_some_watches_limits_the_rest() -> None:
    first = advance(place(1, 25), range_to(150), reach=105, last=LAST)
    assert first is not None
    assert first.position == Position(100, EARLIER, 104, LAST, 150, None)
    second = advance(first, Range(until=104, head=150, began_at=None, look_back=20), reach=105, last=None)
    assert second is not None
    assert second.position == Position(105, EARLIER)


def test_pieces_of_a_range_that_nothing_is_left_of_are_given_up() -> None:
    position = Position(100, EARLIER, 110, LAST, 150, NOW)
    assert restarted(position, 111) == position
    assert restarted(position, 112) == Position(100, EARLIER)
