"""Read how much native coin deposit addresses have received up to a block.

Native coin leaves no log when it arrives, so this module reads balances. A forwarder logs all coin that it sends away
(`Swept`). So the amount that a forwarder has received is its balance at a block, plus the amounts that it logged up to
this block.

One `eth_call` reads many balances: a state override puts code at an unused address, and the code reads the balances.
This call names the block by its hash (EIP-1898), but a query for logs can only name heights. So the block is queried
again afterwards: it must still be on the node's chain.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from chains.client import Block, ChainError, StateMissing
from chains.facts.deposits import CoinsReceived, ReceiptTime
from chains.families.evm.calls import address_word
from chains.families.evm.deposits.sweeps import KnownReceipts, read_sweeps
from chains.families.evm.quantities import data_bytes, hash32, quantity, to_hex
from chains.families.evm.search.log_queries import is_rate
from chains.rpc.json_rpc import Call, JsonRpc, RpcFault, json_object, result_of
from chains.rpc.nodes import Limiting

READER: Final = to_checksum_address(keccak(text="quittance: balances of deposit addresses")[-20:])
"""The unused address at which a node runs the code that reads many balances."""

# Code that returns the balance of the account in each word of the input: for (i = 0; i != calldatasize; i += 32)
# mstore(i, balance(calldataload(i))); return(0, i).
_READING_CODE = "0x60005b8036146014578035318152602001600256" + "5b6000f3"
# Each balance costs 3,000 gas. Nodes allow at least 10 million gas in a call.
_AT_ONCE = 1000
_WORD = 32
# How nodes say that they have pruned the state of a block: geth, Nethermind, Erigon, Besu, Reth and gateways.
_IS_STATE_MISSING = re.compile(
    r"missing trie|prun(ed|ing)|historical state|world state|old data not available|reexec|archive (node|state|data)"
    r"|\bstate\b.*((not|n't|un)\s?(be )?(available|found)|missing|does(n't| not) exist)|no state available"
    r"|(missing|no) state|proof window",
    re.IGNORECASE,
)


class Received(NamedTuple):
    """What one address had received up to the block, and the part that was swept up to the stable block."""

    block: Block
    amount: int
    swept: int


def coins_received(
    node: JsonRpc,
    addresses: Collection[str],
    *,
    since_block: int,
    at_block: int,
    stable_block: int = -1,
    known: KnownReceipts,
    receipts: ReceiptTime | None = None,
) -> dict[str, Received]:
    """Return what the addresses had received up to the block `at_block`, from one node.

    `ChainClient` explains the arguments. An address is omitted if the node does not return its sweeps. Raises
    ChainError if the node lacks the block or its state, or if the block was reorganised meanwhile.
    """
    block = _block(node, at_block)
    pinned = {"blockHash": block.hash, "requireCanonical": True}
    wanted = list(addresses)
    balances = _balances(node, wanted, pinned)
    swept = read_sweeps(
        node, wanted, since_block, at_block, stable_block=stable_block, known=known, time=receipts
    )
    if _block(node, at_block) != block:
        raise ChainError(f"block {at_block} was reorganised while it was read")
    return {
        each: Received(block, balance + swept.total[each], swept.stable[each])
        for each, balance in zip(wanted, balances, strict=True)
        if each not in swept.unreadable
    }


def coins_swept(
    node: JsonRpc,
    addresses: Collection[str],
    *,
    since_block: int,
    until_block: int,
    known: KnownReceipts,
    receipts: ReceiptTime | None = None,
) -> dict[str, int]:
    """Return what the addresses swept in these blocks, from one node. Raises ChainError.

    An address is omitted if the node does not return its sweeps.
    """
    wanted = list(addresses)
    swept = read_sweeps(
        node, wanted, since_block, until_block, stable_block=until_block, known=known, time=receipts
    )
    return {each: swept.total[each] for each in addresses if each not in swept.unreadable}


def together(received: Mapping[str, Received]) -> CoinsReceived:
    """Return the amounts of the block that most addresses have. Other addresses were read beside a reorganisation, and
    are omitted. Raises ChainError if there is no address.
    """
    blocks = Counter(each.block for each in received.values())
    if not blocks:
        raise ChainError("the nodes did not agree on what any of these addresses received")
    ((block, _),) = blocks.most_common(1)
    chosen = {each: found for each, found in received.items() if found.block == block}
    amounts = {each: found.amount for each, found in chosen.items()}
    return CoinsReceived(block, amounts, {each: found.swept for each, found in chosen.items() if found.swept})


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
    return [quantity(_with_state(result)) for result in node.batch(calls, list)]


def _with_state(result: Any) -> Any:
    """Return the result of a query for a balance. Raises StateMissing if the node has no state of the block, and
    ChainError for other faults, which may be temporary.
    """
    if isinstance(result, RpcFault) and is_rate(result):
        raise Limiting("the node is limiting our rate")
    if isinstance(result, RpcFault) and _IS_STATE_MISSING.search(result.message):
        raise StateMissing(f"the node rejected a balance: {result.message}")
    return result_of(result)


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
