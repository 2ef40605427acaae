"""Calls that a contract account executes later. The account's wallet returns an id for such a call."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from chains.facts.blocks import Block


@dataclass(frozen=True)
class Proposal:
    """A call that `account` executes later. The wallet returned `id` instead of a transaction hash.

    The id is a Safe's `safeTxHash`, or the hash of an ERC-4337 user operation. The search for its execution begins at
    `first_block`. If one id was submitted with several accounts, there are several proposals with this id.
    """

    account: str
    id: str
    first_block: int


@dataclass(frozen=True)
class Execution:
    """The mined transaction that executed a proposal, and whether the proposal's own call succeeded in it.

    `is_certain` is true if an EntryPoint logged the id, because an EntryPoint computes the id itself. Otherwise the
    proposal's account logged it, and an account can log any id.
    """

    transaction_hash: str
    block: Block
    succeeded: bool
    is_certain: bool = False


@dataclass(frozen=True)
class ProposalSearch:
    """The executions that were found.

    For each proposal without an execution, `next_blocks` has the block at which the next search begins. `unreadable`
    has the proposals for which too few nodes returned the logs of that block.
    """

    executions: Mapping[Proposal, Execution]
    next_blocks: Mapping[Proposal, int]
    unreadable: Collection[Proposal] = ()
