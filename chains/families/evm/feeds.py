"""Read price feeds: contracts with the interface `AggregatorV3Interface` of Chainlink's documentation."""

from collections.abc import Sequence
from typing import Any

from chains.client import ChainError, FeedAnswer
from chains.families.evm.abi import WORD, selector
from chains.families.evm.quantities import data_bytes, to_hex
from chains.rpc.json_rpc import Call, sound

_LATEST = to_hex(selector("latestRoundData()"))
_DECIMALS = to_hex(selector("decimals()"))
_ROUND_WORDS = 5
_SIGN = 1 << 255


def feed_calls(feed: str) -> list[Call]:
    """Return the questions whose answers `feed_answers` reads."""
    return [("eth_call", [{"to": feed, "data": data}, "latest"]) for data in (_LATEST, _DECIMALS)]


def feed_answers(answers: Sequence[Any]) -> list[FeedAnswer]:
    """Return each feed's latest round from the answers to `feed_calls`. A contract that is no feed answers nothing."""
    return [_feed_answer(*pair) for pair in zip(answers[::2], answers[1::2], strict=True)]


def _feed_answer(latest: Any, decimals: Any) -> FeedAnswer:
    try:
        data, scale = data_bytes(sound(latest)), data_bytes(sound(decimals))
    except ChainError:
        return FeedAnswer(0, 0, 0)  # a feed that reverts must not hide the others
    if len(data) < _ROUND_WORDS * WORD or len(scale) < WORD:
        return FeedAnswer(0, 0, 0)
    round_id, answer, _, updated_at, answered_in = (
        int.from_bytes(data[place * WORD : (place + 1) * WORD]) for place in range(_ROUND_WORDS)
    )
    if answered_in < round_id:  # carried over from an earlier round
        return FeedAnswer(0, 0, 0)
    signed = answer - (_SIGN << 1) if answer & _SIGN else answer
    return FeedAnswer(signed, int.from_bytes(scale[:WORD]), updated_at)
