"""Find a sender's transaction by its nonce with `eth_getTransactionBySenderAndNonce`.

reth, Erigon and anvil support the method. A node that rejects it is not queried again for an hour.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, cast

from eth_typing import ChecksumAddress

from chains.client import ChainError
from chains.families.evm.provider import connect
from chains.families.evm.quantities import hash32
from chains.rpc.json_rpc import JsonRpc, RpcFault, is_temporary, json_object

METHOD = "eth_getTransactionBySenderAndNonce"
UNSUPPORTED_SECONDS = 3600.0


class NonceLookup:
    def __init__(self, rpc: JsonRpc, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rpc = rpc
        self._clock = clock
        self._unsupported_until: dict[tuple[str, ...], float] = {}

    def transaction(self, sender: str, nonce: int) -> str | None:
        """Return the hash of the mined or pending transaction.

        None if no node knows it, or no node supports the method. Raises ChainError if every node that supports the
        method failed.
        """
        failure: ChainError | None = None
        for node in self._rpc.each():
            if self._unsupported_until.get(node.urls, 0.0) > self._clock():
                continue
            try:
                # A failure of this call doesn't count against the node's health.
                result = node.quietly().batch([(METHOD, [sender, hex(nonce)])], _hash_or_fault)
            except ChainError as error:
                failure = error
                continue
            if isinstance(result, RpcFault):
                self._unsupported_until[node.urls] = self._clock() + UNSUPPORTED_SECONDS
            elif result is not None:
                return result
            else:
                failure = None
        if failure is not None:
            raise failure
        return None


def _hash_or_fault(results: list[Any]) -> str | RpcFault | None:
    (result,) = results
    if isinstance(result, RpcFault) and is_temporary(result):
        raise ChainError(f"the node rejected a call: {result.message}")
    if result is None or isinstance(result, RpcFault):
        return result
    return hash32(json_object(result).get("hash"))


def transaction_counts(senders: Sequence[ChecksumAddress], node: JsonRpc) -> list[int]:
    """Return each sender's next nonce in mined blocks from one node, in one round trip."""
    web3 = connect(node)
    with web3.batch_requests() as batch:
        for sender in senders:
            batch.add(web3.eth.get_transaction_count(sender, "latest"))
        return cast(list[int], batch.execute())
