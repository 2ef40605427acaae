"""Calls that a contract account executes later: the ids that its wallet returns for them, and their executions."""

from collections.abc import Mapping
from dataclasses import dataclass

from chains.facts.blocks import Block


@dataclass(frozen=True)
class Proposal:
    """A call that `account` executes later, by the `id` that its wallet returned in place of a transaction hash.

    The id is a Safe's `safeTxHash`, or the hash of an ERC-4337 user operation. The search for its execution begins at
    `first_block`. Several proposals may have one id, if it was submitted with several accounts.
    """

    account: str
    id: str
    first_block: int


@dataclass(frozen=True)
class Execution:
    """The mined transaction that executed a proposal, and whether the proposal's own call succeeded in it.

    `is_certain`: an EntryPoint logged it, and an EntryPoint computes the id. Otherwise the proposal's account logged
    it, and an account can log any id.
    """

    transaction_hash: str
    block: Block
    succeeded: bool
    is_certain: bool = False


@dataclass(frozen=True)
class ProposalSearch:
    """The executions found, and the block from which to search for each of the other proposals next."""

    executions: Mapping[Proposal, Execution]
    next_blocks: Mapping[Proposal, int]
