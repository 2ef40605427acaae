"""The part of the client that reads deposit addresses. `ChainClient` documents the methods."""

from collections.abc import Collection, Sequence
from functools import partial

from chains.client import Block, ChainError, EvmCall, StateMissing
from chains.facts.deposits import CoinsReceived, Deposit, DepositProblem, ReceiptTime
from chains.facts.failures import SweepsMissing
from chains.families.evm.deposits import coins, gas, holdings, rehearsal
from chains.families.evm.deposits.sweeps import KnownReceipts
from chains.rpc import quorum
from chains.rpc.json_rpc import JsonRpc


class DepositReader:
    """Queries about deposit addresses, to the nodes of `_rpc`."""

    _rpc: JsonRpc
    _known_receipts: KnownReceipts

    def deposit_problem(
        self, deposit: Deposit, *, recipient: str, token: str, amount: int, is_confirmed: bool = False
    ) -> DepositProblem | None:
        check = partial(rehearsal.problem, deposit=deposit, recipient=recipient, token=token, amount=amount)
        return quorum.query_until_agreed(self._rpc, partial(check, is_confirmed=is_confirmed))

    def holdings(self, places: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
        return holdings.holdings(self._rpc, places)

    def estimated_gas(self, calls: Sequence[EvmCall]) -> list[int | None]:
        return gas.estimated_gas(self._rpc, calls)

    def coins_received(
        self,
        addresses: Sequence[str],
        *,
        since_block: int,
        at_block: int,
        stable_block: int = -1,
        receipts: ReceiptTime | None = None,
    ) -> CoinsReceived:
        query = partial(
            coins.coins_received,
            since_block=since_block,
            at_block=at_block,
            stable_block=stable_block,
            known=self._known_receipts,
            receipts=receipts,
        )
        failures: list[ChainError] = []
        asked = unreadable = 0

        def noted(node: JsonRpc, some: Collection[str]) -> dict[str, coins.Received]:
            nonlocal asked, unreadable
            asked += 1
            try:
                found = query(node, some)
            except ChainError as error:
                failures.append(error)
                raise
            unreadable += not found
            return found

        try:
            agreed = quorum.query_items(self._rpc, addresses, noted)
        except StateMissing:
            # A node that failed, or that is in a cooldown, may still have the state.
            other = next((each for each in failures if not isinstance(each, StateMissing)), None)
            if other is not None:
                raise other from None
            if asked < self._rpc.size:
                raise ChainError("a node that may have the block's state was not queried") from None
            raise
        if not agreed and unreadable >= quorum.nodes_needed(self._rpc):
            raise SweepsMissing("no node returns the sweeps of these addresses")
        return coins.together(agreed)

    def coins_swept(
        self,
        addresses: Sequence[str],
        *,
        since_block: int,
        until_block: int,
        receipts: ReceiptTime | None = None,
    ) -> dict[str, int]:
        query = partial(
            coins.coins_swept,
            since_block=since_block,
            until_block=until_block,
            known=self._known_receipts,
            receipts=receipts,
        )
        return quorum.query_items(self._rpc, addresses, query)

    def blocks(self, heights: Collection[int]) -> dict[int, Block]:
        return quorum.query_items(self._rpc, heights, coins.blocks)
