"""Who shares a search, and how far a cursor may move after it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from chains.clients.base import SearchLimits
from payments.discovery_plan import Place, Position, Searched, advance, is_finished, moved, next_group
from payments.discovery_starts import restarted

LIMITS = SearchLimits(by_block=True, watches=10, searches=20)
EARLIER = datetime(2026, 1, 1, tzinfo=UTC)
NOW = EARLIER + timedelta(hours=1)
LAST = UUID(int=7)


def place(number: int, watches: int = 1, start: int = 100) -> Place:
    return Place(UUID(int=number), Position(start, EARLIER), watches, start)


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


def test_a_merchant_with_more_than_one_search_takes_is_searched_for_by_itself() -> None:
    in_pieces = replace(place(2), position=Position(100, EARLIER, until_block=120, after=LAST))
    assert numbers(next_group([place(1, 11), place(2)], LIMITS, None)) == [1]
    assert numbers(next_group([place(1), in_pieces, place(3, 11), place(4)], LIMITS, None)) == [1, 4]
    assert numbers(next_group([in_pieces, place(4)], LIMITS, None)) == [2]


def test_ranges_that_do_not_coincide_are_searched_apart() -> None:
    queue = [place(1, start=100), place(2, start=120), place(3, start=121), place(4, start=80)]
    assert numbers(next_group(queue, LIMITS, None)) == [1, 2, 4]
    assert numbers(next_group(queue, replace(LIMITS, by_block=False), None)) == [1, 2, 3, 4]


def test_a_whole_search_moves_the_cursor_past_the_range() -> None:
    after = advance(place(1), Searched(reach=111, until=110, last=None, began_at=NOW))
    assert after == Position(111, NOW)


def test_a_search_that_was_cut_short_moves_it_as_far_as_it_went() -> None:
    after = advance(place(1), Searched(reach=105, until=110, last=None, began_at=NOW))
    assert after == Position(105, EARLIER)


def test_a_search_that_ended_before_the_merchants_own_range_gains_nothing() -> None:
    assert advance(place(1), Searched(reach=100, until=110, last=None, began_at=NOW)) is None
    assert advance(place(1), Searched(reach=90, until=110, last=None, began_at=NOW)) is None


def test_no_answer_moves_the_cursor_beyond_the_range() -> None:
    after = advance(place(1), Searched(reach=10**9, until=110, last=None, began_at=NOW))
    assert after == Position(111, NOW)


def test_the_cursor_stays_until_the_merchants_other_watches_were_searched() -> None:
    first = advance(place(1, 25), Searched(reach=111, until=110, last=LAST, began_at=NOW))
    assert first == Position(100, EARLIER, until_block=110, after=LAST, pass_began_at=NOW)
    second = advance(moved(place(1, 25), first), Searched(111, 110, last=None, began_at=NOW))
    assert second == Position(111, NOW)


def test_what_is_cut_short_for_one_part_of_the_watches_is_so_for_the_rest() -> None:
    first = advance(place(1, 25), Searched(reach=105, until=110, last=LAST, began_at=NOW))
    assert first == Position(100, EARLIER, until_block=104, after=LAST, pass_began_at=None)
    second = advance(moved(place(1, 25), first), Searched(105, 104, last=None, began_at=None))
    assert second == Position(105, EARLIER)


def test_a_chain_without_a_new_block_is_searched_again_from_the_same_place() -> None:
    at_head = place(1, start=111)
    after = advance(at_head, Searched(reach=111, until=110, last=None, began_at=NOW))
    assert after == Position(111, NOW)
    assert is_finished(moved(at_head, after), head=110)
    assert not is_finished(moved(at_head, after), head=111)


def test_pieces_of_a_range_that_nothing_is_left_of_are_given_up() -> None:
    position = Position(100, EARLIER, until_block=110, after=LAST, pass_began_at=NOW)
    assert restarted(position, 111) == position
    assert restarted(position, 112) == Position(100, EARLIER)
