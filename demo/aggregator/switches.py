"""The three switches that make the aggregator misbehave. All are `honest` at the start.

`quote` and `status` change the responses. `delivery` changes the transactions on the chains.
"""

import threading
from dataclasses import asdict, dataclass, fields
from typing import Any

HONEST = "honest"

QUOTES = {
    HONEST: "answers as it should",
    "other_recipient": "the quote and its call pay another recipient",
    "other_token": "the quote delivers another token",
    "other_chain": "the quote delivers on another chain",
    "other_sender": "the quote debits another wallet",
    "minimum_too_low": "the guaranteed minimum is 1 % less than what was asked for",
    "unknown_router": "the transaction calls an unknown contract",
    "unknown_spender": "the approval names an unknown contract",
    "no_id": "the call data does not hold the quote's id",
    "other_receiver_in_call": "the answer names the recipient, but the call pays another",
    "other_minimum_in_call": "the answer guarantees the amount, and the call of a swap on one chain half of it",
    "too_much_value": "the transaction sends more of the native coin than the answer says",
    "absurd_price": "half of the value is lost on the way",
    "reverts": "the transaction will fail",
    "malformed": "an answer that is no JSON",
    "empty": "JSON without any of the fields",
    "wrong_types": "JSON whose fields are of other types",
    "several_transactions": "a list of transactions in place of one",
    "no_quote": "404, code 1002, `errors` as a list of tool errors, whose code `tool_error` says",
    "filtered_out": "404, code 1002, `errors` as the routes that were filtered out and failed (`tool_error`)",
    "invalid": "400, code 1011",
    "unauthorized": "401, code 1010",
    "slippage": "409, code 1007",
    "third_party": "424, code 1008",
    "rate_limited": "429, code 1005, with `ratelimit-reset: retry_after`",
    "server_error": "500, code 1006",
    "hang": "no answer for `hang_seconds`",
}
STATUSES = {
    HONEST: "reports the swap's outcome",
    "not_found": "404, code 1003",
    "not_found_quietly": "200, status NOT_FOUND",
    "flip_flop": "the truth and `PENDING` by turns",
    "unknown_word": "an unknown status",
    "foreign_hash": "DONE, by the destination transaction `hash` (another swap's latest, if it is empty)",
    "unknown_hash": "DONE, by a destination transaction that does not exist",
    "no_hash": "DONE, without a destination transaction",
    "less": "DONE, and says that 1 % less arrived than did",
    "other_token": "DONE, and names another token than the one that arrived",
    "other_recipient": "DONE, with another recipient",
    "other_chain": "DONE, on another chain",
    "other_source": "DONE, of another source transaction",
    "other_id": "DONE, of another quote",
    "malformed": "an answer that is no JSON",
    "empty": "JSON without any of the fields",
    "rate_limited": "429, code 1005, with `ratelimit-reset: retry_after`",
    "server_error": "500, code 1006",
    "hang": "no answer for `hang_seconds`",
}
"""The switch can also be `INVALID` or any `STATUS/SUBSTATUS` of LI.FI, such as `PENDING/REFUND_IN_PROGRESS`. The
responses then have this status."""
STATUS_WORDS = ("NOT_FOUND", "INVALID", "PENDING", "DONE", "FAILED")
DELIVERIES = {
    HONEST: "the quoted amount to the quoted recipient, as soon as the source funds arrived",
    "none": "nothing, while the switch is set",
    "late": "after `delay_seconds`",
    "less": "1 % less than the quote's minimum",
    "other_token": "another token of the same value (reported as DONE/PARTIAL)",
    "other_recipient": "to another recipient (reported as DONE/COMPLETED)",
    "refund": "back to the sender, on the source chain (reported as DONE/REFUNDED)",
    "batch": "in one transaction with a delivery to another recipient",
    "batch_same_recipient": "in one transaction with a smaller delivery to the same recipient",
}


class UnknownSwitch(ValueError):
    """There is no such switch or position. The message lists the valid ones."""


@dataclass(frozen=True)
class Positions:
    """The switches' state.

    The next `quote_times` quotes misbehave, and later quotes are honest again. If `quote_times` is None, all quotes
    misbehave.
    """

    quote: str = HONEST
    status: str = HONEST
    delivery: str = HONEST
    packed: bool = False
    tool_error: str = "NO_POSSIBLE_ROUTE"
    hash: str = ""
    retry_after: int = 30
    hang_seconds: float = 60.0
    delay_seconds: float = 3.0
    quote_times: int | None = None


class Switches:
    """The switches of one aggregator. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._positions = Positions()
        self._released = threading.Event()

    def __call__(self) -> Positions:
        """Return the current state."""
        with self._lock:
            return self._positions

    def set(self, **changed: Any) -> Positions:
        """Change some of the switches. Raises UnknownSwitch."""
        with self._lock:
            turned = {**asdict(self._positions), **changed}
            _check(turned)
            self._positions = Positions(**turned)
            self._let_go()
            return self._positions

    def reset(self) -> None:
        """Set all switches to `honest`, and abort hanging responses."""
        with self._lock:
            self._positions = Positions()
            self._let_go()

    def for_quote(self) -> Positions:
        """Return the state for a quote. The quote counts towards `quote_times`."""
        with self._lock:
            now = self._positions
            if now.quote == HONEST or now.quote_times is None:
                return now
            left = now.quote_times - 1
            fields_left = {"quote_times": left} if left > 0 else {"quote_times": None, "quote": HONEST}
            self._positions = Positions(**{**asdict(now), **fields_left})
            return now

    def hang(self, seconds: float) -> None:
        """Wait for this time, or until a switch changes."""
        with self._lock:
            released = self._released
        released.wait(seconds)

    def _let_go(self) -> None:
        self._released.set()
        self._released = threading.Event()


def _check(turned: dict[str, Any]) -> None:
    unknown = set(turned) - {field.name for field in fields(Positions)}
    if unknown:
        raise UnknownSwitch(f"There is no switch {min(unknown)!r}.")
    for name, known in (("quote", QUOTES), ("delivery", DELIVERIES), ("status", STATUSES)):
        position = turned[name]
        is_word = name == "status" and str(position).partition("/")[0] in STATUS_WORDS
        if position not in known and not is_word:
            raise UnknownSwitch(f"{name!r} can be {', '.join(known)}; not {position!r}.")
