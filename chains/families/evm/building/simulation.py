"""Simulate a third party's call and check its debits from the signing wallet (`eth_simulateV1`).

`eth_estimateGas` only shows whether a call succeeds; a simulation also returns its logs. The check is optional: many
nodes don't support it, and a token can log anything. The check finds only movements with a known log. NFTs (ERC-721,
ERC-1155) are missed. Native coin beyond the call's value is also missed, but only wallets with code can lose it.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from eth_utils.address import to_checksum_address

from chains.client import ChainError, EvmCall, Refusal, Spending, TransferRefused
from chains.families.evm.abi import APPROVAL_TOPIC, WORD
from chains.families.evm.calls import address_word
from chains.families.evm.quantities import address, quantity, to_hex
from chains.families.evm.tokens import allowance_call, word
from chains.families.evm.transactions import transfers
from chains.families.evm.transactions.signed_calls import Log
from chains.rpc.json_rpc import Call, JsonRpc, RpcFault, is_execution_failure, json_object

logger = logging.getLogger(__name__)

UNABLE_SECONDS = 3600.0
FAILING_SECONDS = 60.0
MAX_APPROVALS = 20


class Simulator:
    """One node's simulations. Simulations use separate connections, so that failures don't count against the node's
    health.
    """

    def __init__(self, node: JsonRpc, *, clock: Callable[[], float]) -> None:
        self._node = node
        self._clock = clock
        self._not_before = 0.0

    def is_usable(self) -> bool:
        """Return False for a while after the node failed a simulation or rejected the method."""
        return self._clock() >= self._not_before

    def check(self, call: EvmCall, sender: str, spending: Spending, *, after: Sequence[EvmCall] = ()) -> bool:
        """Return whether the node could simulate the call.

        Raises TransferRefused if the call exceeds `spending`. `after` has the earlier calls of the same atomic batch.
        With `after`, also raises TransferRefused if a call of the batch would fail.
        """
        try:
            results = self._results([*after, call], sender)
            if results is None:
                return False
            *earlier, logs = [_logs_of(result) for result in results]
            if after and (logs is None or None in earlier):
                raise TransferRefused(Refusal.WOULD_FAIL, note="the batch fails in a simulation")
            if logs is not None:
                owner = to_checksum_address(sender)
                _check_debits(logs, owner, spending)
                granted = _granted([log for each in earlier for log in each or ()], owner)
                self._check_approvals(logs, owner, to_checksum_address(call.to), granted)
        except ChainError:
            self._not_before = self._clock() + FAILING_SECONDS
            return False
        return logs is not None

    def _results(self, calls: Sequence[EvmCall], sender: str) -> list[dict[str, Any]] | None:
        """Simulate these calls in one block. Return their results in order; None if the node can't simulate."""
        fields = [
            {"from": sender, "to": call.to, "data": to_hex(call.data), "value": hex(call.value)}
            for call in calls
        ]
        request: Call = ("eth_simulateV1", [{"blockStateCalls": [{"calls": fields}]}, "latest"])
        (result,) = self._node.batch([request], list)
        if isinstance(result, RpcFault):
            self._not_before = self._clock() + UNABLE_SECONDS
            return None
        (block,) = _of_length(result, 1)
        return _of_length(block.get("calls"), len(calls))

    def _check_approvals(
        self, logs: Sequence[Log], owner: str, called: str, granted_before: Mapping[tuple[str, str], int]
    ) -> None:
        """Raise TransferRefused if the call would raise an allowance of the wallet above `granted_before`.

        Tokens also log an approval when an allowance is spent, so an approval counts only if it exceeds the current
        allowance. Approvals that the called contract itself logs don't count: the owner agrees to them by making the
        call.
        """
        granted = {
            pair: amount
            for pair, amount in _granted(logs, owner).items()
            if pair[0] != called and amount > granted_before.get(pair, 0)
        }
        if not granted:
            return
        if len(granted) > MAX_APPROVALS:
            raise TransferRefused(
                Refusal.WOULD_FAIL, note="it would grant too many allowances over the wallet's tokens"
            )
        calls = [allowance_call(token, owner, spender) for token, spender in granted]
        current = self._node.batch(calls, lambda results: [_current_allowance(result) for result in results])
        for ((token, spender), amount), before in zip(granted.items(), current, strict=True):
            if amount > before:
                raise _refused(f"it would let {spender} move {amount} base units of {token}")


def _check_debits(logs: Sequence[Log], sender: str, spending: Spending) -> None:
    """Raise TransferRefused if the net debit of any token exceeds `spending`."""
    debits: Counter[str] = Counter()
    for transfer in transfers.token_transfers(logs).values():
        debits[transfer.token] += transfer.amount * (transfer.sender == sender)
        debits[transfer.token] -= transfer.amount * (transfer.recipient == sender)
    for token, amount in debits.items():
        allowed = spending.amount if token.lower() == spending.token.lower() else 0
        if amount > allowed:
            raise _refused(f"it would spend {amount} base units of {token}, but may spend {allowed}")


def _refused(note: str) -> TransferRefused:
    logger.warning("a call was rejected after its simulation: %s", note)
    return TransferRefused(Refusal.WOULD_FAIL, note=note)


def _logs_of(result: dict[str, Any]) -> list[Log] | None:
    """Return the logs of a simulated call; None if the call would fail."""
    return transfers.logs_of(result) if quantity(result.get("status")) == 1 else None


def _granted(logs: Sequence[Log], owner: str) -> dict[tuple[str, str], int]:
    """Return the allowances that the wallet grants in these logs, by token and spender."""
    return {
        (log.address, address(to_hex(log.topics[2][12:]))): int.from_bytes(log.data)
        for log in logs
        if _is_approval(log, owner)
    }


def _is_approval(log: Log, owner: str) -> bool:
    return (
        len(log.topics) == 3
        and log.topics[:2] == (APPROVAL_TOPIC, address_word(owner))
        and len(log.topics[2]) == len(log.data) == WORD
    )


def _current_allowance(result: Any) -> int:
    """Return the current allowance; 0 if the contract fails. Raises ChainError if the node fails."""
    if isinstance(result, RpcFault) and not is_execution_failure(result):
        raise ChainError(f"the node rejected a call: {result.message}")
    try:
        return word(result)
    except ChainError:
        return 0


def _of_length(result: Any, length: int) -> list[dict[str, Any]]:
    if not isinstance(result, list) or len(result) != length:
        raise ChainError("the node returned a malformed simulation")
    return [json_object(each) for each in result]
