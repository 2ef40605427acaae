"""Read price feeds: contracts with the interface `AggregatorV3Interface` of Chainlink's documentation."""

from collections.abc import Sequence
from typing import Any

from chains.client import ChainError, FeedAnswer
from chains.families.evm.abi import WORD, selector
from chains.families.evm.quantities import data_bytes, to_hex
from chains.rpc.json_rpc import Call, result_of

_LATEST = to_hex(selector("latestRoundData()"))
_DECIMALS = to_hex(selector("decimals()"))
_ROUND_WORDS = 5
_SIGN = 1 << 255


def feed_calls(feed: str) -> list[Call]:
    return [("eth_call", [{"to": feed, "data": data}, "latest"]) for data in (_LATEST, _DECIMALS)]


def feed_answers(results: Sequence[Any]) -> list[FeedAnswer]:
    """Return each feed's latest round from the results of `feed_calls`. All values are 0 for a contract that isn't
    a feed.
    """
    return [_feed_answer(*pair) for pair in zip(results[::2], results[1::2], strict=True)]


def _feed_answer(latest: Any, decimals: Any) -> FeedAnswer:
    try:
        data, scale = data_bytes(result_of(latest)), data_bytes(result_of(decimals))
    except ChainError:
        return FeedAnswer(0, 0, 0)  # a feed that reverts must not affect the others
    if len(data) < _ROUND_WORDS * WORD or len(scale) < WORD:
        return FeedAnswer(0, 0, 0)
    round_id, result, _, updated_at, answered_in = (
        int.from_bytes(data[place * WORD : (place + 1) * WORD]) for place in range(_ROUND_WORDS)
    )
    if answered_in < round_id:  # the price is from an earlier round
        return FeedAnswer(0, 0, 0)
    signed = result - (_SIGN << 1) if result & _SIGN else result
    return FeedAnswer(signed, int.from_bytes(scale[:WORD]), updated_at)
