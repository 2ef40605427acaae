"""Read how much native coin deposit addresses have received up to a block.

Native coin leaves no log when it arrives, so this module reads balances. A forwarder logs all coin that it sends away
(`Swept`). So the amount that a forwarder has received is its balance at a block, plus the amounts that it logged up to
this block.

One `eth_call` reads many balances: a state override puts code at an unused address, and the code reads the balances.
This call names the block by its hash (EIP-1898), but a query for logs can only name heights. So the block is queried
again afterwards: it must still be on the node's chain.
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from chains.client import Block, ChainError
from chains.facts.deposits import CoinsReceived
from chains.families.evm.calls import address_word
from chains.families.evm.quantities import address, data_bytes, hash32, json_object, quantity, to_hex
from chains.families.evm.search.log_queries import check, log_call, logs
from chains.rpc.json_rpc import Call, JsonRpc, RpcFault, result_of

logger = logging.getLogger(__name__)

SWEPT: Final = to_hex(keccak(text="Swept(uint256)"))
READER: Final = to_checksum_address(keccak(text="quittance: balances of deposit addresses")[-20:])
"""The unused address at which a node runs the code that reads many balances."""

# Code that returns the balance of the account in each word of the input: for (i = 0; i != calldatasize; i += 32)
# mstore(i, balance(calldataload(i))); return(0, i).
_READING_CODE = "0x60005b8036146014578035318152602001600256" + "5b6000f3"
# Each balance costs 3,000 gas. Nodes allow at least 10 million gas in a call.
_AT_ONCE = 1000
_WORD = 32


def coins_received(
    node: JsonRpc, addresses: Sequence[str], *, since_block: int, at_block: int, stable_block: int = -1
) -> CoinsReceived:
    """Return the amounts that the addresses had received up to the block `at_block`, from one node.

    `ChainClient` explains the arguments. Raises ChainError if the node lacks the block or its state, or if the block
    was reorganised meanwhile.
    """
    block = _block(node, at_block)
    pinned = {"blockHash": block.hash, "requireCanonical": True}
    balances = _balances(node, addresses, pinned)
    swept, stable = _swept(node, addresses, since_block, at_block, stable_block)
    if _block(node, at_block) != block:
        raise ChainError(f"block {at_block} was reorganised while it was read")
    received = {each: balance + swept[each] for each, balance in zip(addresses, balances, strict=True)}
    return CoinsReceived(block, received, dict(stable))


def _balances(node: JsonRpc, addresses: Sequence[str], pinned: dict[str, Any]) -> list[int]:
    """Return the balances in one round trip.

    If the node can't run the code of a state override, query each balance in batches.

    Raises ChainError.
    """
    parts = [addresses[start : start + _AT_ONCE] for start in range(0, len(addresses), _AT_ONCE)]
    override = {READER: {"code": _READING_CODE}}
    calls: list[Call] = [
        ("eth_call", [{"to": READER, "data": to_hex(b"".join(map(address_word, part)))}, pinned, override])
        for part in parts
    ]
    # Parse outside the batch: a node without old state isn't at fault.
    results = node.batch(calls, list) if calls else []
    read = [_words(result) for result in results]
    if [len(words) for words in read] == [len(part) for part in parts]:
        return [balance for words in read for balance in words]
    calls = [("eth_getBalance", [each, pinned]) for each in addresses]
    return [quantity(result_of(result)) for result in node.batch(calls, list)]


def _words(result: Any) -> list[int]:
    """Return the words of the call's result. The list is empty if the node rejects the call or ignores the code."""
    if isinstance(result, RpcFault):
        return []
    data = data_bytes(result_of(result))
    return [int.from_bytes(data[start : start + _WORD]) for start in range(0, len(data), _WORD)]


def blocks(node: JsonRpc, heights: Collection[int]) -> dict[int, Block]:
    """Return the block at each of these heights, except the blocks that the node lacks. Raises ChainError."""
    wanted = sorted(heights)
    calls: list[Call] = [("eth_getBlockByNumber", [hex(height), False]) for height in wanted]
    results = [result_of(result) for result in node.batch(calls, list)] if calls else []
    found = zip(wanted, results, strict=True)
    return {height: _read_block(result, height) for height, result in found if result is not None}


def _block(node: JsonRpc, height: int) -> Block:
    found = blocks(node, [height])
    if height not in found:
        raise ChainError(f"the node does not have block {height}")
    return found[height]


def _read_block(result: Any, height: int) -> Block:
    header = json_object(result)
    if quantity(header.get("number")) != height:
        raise ChainError("the node returned another block")
    time = datetime.fromtimestamp(quantity(header.get("timestamp")), UTC)
    return Block(height, hash32(header.get("hash")), time)


def _swept(
    node: JsonRpc, addresses: Sequence[str], first: int, last: int, stable: int
) -> tuple[Counter[str], Counter[str]]:
    """Return two amounts for each forwarder: swept from block `first` to `last`, and swept from `first` to `stable`.

    Raises ChainError.
    """
    swept: Counter[str] = Counter()
    stable_part: Counter[str] = Counter()
    size = node.log_limits.recipients.size
    for start in range(0, len(addresses), size):
        some = addresses[start : start + size]
        for entry, until in _logs(node, some, first, last):
            log = json_object(entry)
            block = quantity(log.get("blockNumber"))
            if not first <= block <= until:
                raise ChainError("the node's response has logs of other blocks")
            forwarder, amount = address(log.get("address")), data_bytes(log.get("data"))
            if forwarder not in some or len(amount) != _WORD:
                raise ChainError("the node's response has logs of other contracts")
            swept[forwarder] += int.from_bytes(amount)
            if block <= stable:
                stable_part[forwarder] += int.from_bytes(amount)
    return swept, stable_part


def _logs(node: JsonRpc, contracts: Sequence[str], first: int, last: int) -> Iterator[tuple[Any, int]]:
    """Yield these contracts' `Swept` logs, each with the last block of its query. Raises ChainError.

    If the node rejects a range of blocks, the range is halved. Other queries to this node still use the full range.
    """
    size = node.log_limits.blocks.size
    is_checked = False
    while first <= last:
        end = min(last, first + size - 1)
        entries = logs(node, log_call(first, end, [SWEPT], contracts))
        if entries is None:
            if not is_checked:
                check(node, first)
                is_checked = True
            if end > first:
                size = (end - first + 1) // 2
                continue
            entries = _logs_of_block(node, contracts, first)
        yield from ((entry, end) for entry in entries)
        first = end + 1


def _logs_of_block(node: JsonRpc, contracts: Sequence[str], block: int) -> list[Any]:
    """Return these contracts' `Swept` logs of one block in smaller queries, after the node rejected the query for all.

    Anyone can call one forwarder many thousand times in a block, and this must not stop the search for the other
    forwarders. The sweeps of this forwarder in this block are then ignored. The forwarder's swept amount is then too
    low, which is safe.
    """
    if len(contracts) == 1:
        logger.error("block %s: the node does not return the sweeps of %s", block, contracts[0])
        return []
    middle = len(contracts) // 2
    found: list[Any] = []
    for part in (contracts[:middle], contracts[middle:]):
        entries = logs(node, log_call(block, block, [SWEPT], part))
        found += _logs_of_block(node, part, block) if entries is None else entries
    return found
