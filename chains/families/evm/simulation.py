"""What a call that somebody else made would take from the wallet that signs it, where a node tells (`eth_simulateV1`).

`eth_estimateGas` says whether a call succeeds; a simulation gives its logs as well. They are a second lock, and never
required: many nodes do not offer it, and a token's log is the token's own word. What no log tells is not seen: native
coin beyond the call's value (which a plain wallet can't lose) and what is not a token (ERC-721, ERC-1155).
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from eth_utils.address import to_checksum_address

from chains.client import ChainError, EvmCall, Refusal, Spending, TransferRefused
from chains.families.evm.abi import APPROVAL_TOPIC, WORD
from chains.families.evm.calls import address_word
from chains.families.evm.quantities import address, json_object, quantity, to_hex
from chains.families.evm.tokens import allowance_call, word
from chains.families.evm.transactions import transfers
from chains.families.evm.transactions.signed_calls import Log
from chains.rpc.json_rpc import Call, JsonRpc, RpcFault, is_execution_failure

logger = logging.getLogger(__name__)

UNABLE_SECONDS = 3600.0
FAILING_SECONDS = 60.0
MOST_APPROVALS = 20


class Simulator:
    """One node's simulations, over connections of its own: one that fails says nothing of the node's other answers."""

    def __init__(self, node: JsonRpc, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._node = node
        self._clock = clock
        self._not_before = 0.0

    def is_worth_asking(self) -> bool:
        """Whether the node was not found of late to offer no simulations, or to fail."""
        return self._clock() >= self._not_before

    def check(self, call: EvmCall, sender: str, spending: Spending) -> bool:
        """Return whether the node could tell; raises TransferRefused where the call would take more than `spending`."""
        try:
            logs = self._logs(call, sender)
            if logs is not None:
                _check_taken(logs, to_checksum_address(sender), spending)
                self._check_approvals(logs, to_checksum_address(sender), to_checksum_address(call.to))
        except ChainError:
            self._not_before = self._clock() + FAILING_SECONDS
            return False
        return logs is not None

    def _logs(self, call: EvmCall, sender: str) -> list[Log] | None:
        """Return what the call would log, or None where the node does not tell or the call would fail."""
        fields = {"from": sender, "to": call.to, "data": to_hex(call.data), "value": hex(call.value)}
        question: Call = ("eth_simulateV1", [{"blockStateCalls": [{"calls": [fields]}]}, "latest"])
        (answer,) = self._node.batch([question], list)
        if isinstance(answer, RpcFault):
            self._not_before = self._clock() + UNABLE_SECONDS
            return None
        result = _only(_only(answer).get("calls"))
        return transfers.logs_of(result) if quantity(result.get("status")) == 1 else None

    def _check_approvals(self, logs: Sequence[Log], owner: str, called: str) -> None:
        """Refuse a call by which anybody could move more of the wallet's afterwards than before.

        Tokens log an approval also when leave is used up, so a logged one counts only where it is more than what
        stands. What the wallet itself tells the contract that it calls is left to its owner.
        """
        told = {
            (log.address, address(to_hex(log.topics[2][12:]))): int.from_bytes(log.data)
            for log in logs
            if _is_approval(log, owner) and log.address != called
        }
        given = {pair: amount for pair, amount in told.items() if amount > 0}
        if not given:
            return
        if len(given) > MOST_APPROVALS:
            raise TransferRefused(
                Refusal.WOULD_FAIL, note="it would let many others move the wallet's tokens"
            )
        questions = [allowance_call(token, owner, spender) for token, spender in given]
        standing = self._node.batch(questions, lambda answers: [_standing(answer) for answer in answers])
        for ((token, spender), amount), before in zip(given.items(), standing, strict=True):
            if amount > before:
                raise _refused(f"it would let {spender} move {amount} base units of {token}")


def _check_taken(logs: Sequence[Log], sender: str, spending: Spending) -> None:
    """Refuse a call that takes more of any token from the wallet, on balance, than it is to spend."""
    taken: Counter[str] = Counter()
    for transfer in transfers.token_transfers(logs).values():
        taken[transfer.token] += transfer.amount * (transfer.sender == sender)
        taken[transfer.token] -= transfer.amount * (transfer.recipient == sender)
    for token, amount in taken.items():
        allowed = spending.amount if token.lower() == spending.token.lower() else 0
        if amount > allowed:
            raise _refused(f"it would take {amount} base units of {token}, and not {allowed}")


def _refused(note: str) -> TransferRefused:
    logger.warning("a call was not handed out: %s", note)
    return TransferRefused(Refusal.WOULD_FAIL, note=note)


def _is_approval(log: Log, owner: str) -> bool:
    return (
        len(log.topics) == 3
        and log.topics[:2] == (APPROVAL_TOPIC, address_word(owner))
        and len(log.topics[2]) == len(log.data) == WORD
    )


def _standing(answer: Any) -> int:
    """Return an allowance as it is now: none where the contract can't tell. Raises ChainError if the node can't."""
    if isinstance(answer, RpcFault) and not is_execution_failure(answer):
        raise ChainError(f"the node refused a call: {answer.message}")
    try:
        return word(answer)
    except ChainError:
        return 0


def _only(answer: Any) -> dict[str, Any]:
    """Return the one object of a list."""
    if not isinstance(answer, list) or len(answer) != 1:
        raise ChainError("the node simulated something else")
    return json_object(answer[0])
