"""Find a sender's transaction by its nonce, where a node supports it: `eth_getTransactionBySenderAndNonce`.

reth, Erigon and anvil support the method. A node that rejects it is not asked again for an hour.
"""

import time
from collections.abc import Callable
from typing import Any

from chains.client import ChainError
from chains.families.evm.quantities import hash32, json_object
from chains.rpc.json_rpc import JsonRpc, RpcFault, is_passing

METHOD = "eth_getTransactionBySenderAndNonce"
REFUSED_FOR_SECONDS = 3600.0


class NonceLookup:
    """Looks up a sender's transaction by its nonce, on the nodes of one chain."""

    def __init__(self, rpc: JsonRpc, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rpc = rpc
        self._clock = clock
        self._refused_until: dict[tuple[str, ...], float] = {}

    def transaction(self, sender: str, nonce: int) -> str | None:
        """Return the hash of the mined or pending transaction; None if no node knows it or supports the method.

        Raises ChainError if every node that supports the method failed.
        """
        failure: ChainError | None = None
        for node in self._rpc.each():
            if self._refused_until.get(node.urls, 0.0) > self._clock():
                continue
            try:
                # A failure of this call doesn't count against the node's health.
                answer = node.quietly().batch([(METHOD, [sender, hex(nonce)])], _hash_or_refusal)
            except ChainError as error:
                failure = error
                continue
            if isinstance(answer, RpcFault):
                self._refused_until[node.urls] = self._clock() + REFUSED_FOR_SECONDS
            elif answer is not None:
                return answer
            else:
                failure = None
        if failure is not None:
            raise failure
        return None


def _hash_or_refusal(answers: list[Any]) -> str | RpcFault | None:
    (answer,) = answers
    if isinstance(answer, RpcFault) and is_passing(answer):
        raise ChainError(f"the node refused a call: {answer.message}")
    if answer is None or isinstance(answer, RpcFault):
        return answer
    return hash32(json_object(answer).get("hash"))
