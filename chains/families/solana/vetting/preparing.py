"""Prepare a routing provider's action: check that only the sender must sign, simulate it and enforce spending limits.

A provider's transaction is not changed. But if it has no signatures, it gets a new blockhash. Bare instructions are
compiled into a transaction. The wallet gets exactly the bytes that were simulated. A simulation is no proof, because a
program may behave differently later. So only programs in the catalogue may be called at all.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.instruction import AccountMeta, Instruction
from solders.message import CompileError
from solders.pubkey import Pubkey

from chains.client import (
    ChainError,
    Refusal,
    SolanaInstructions,
    SolanaTransaction,
    Spending,
    TransferRefused,
)
from chains.families.solana.accounts import TOKEN_PROGRAMS, Account, read_account, read_holding
from chains.families.solana.building import budget_for, unit_price
from chains.families.solana.commitments import ACCOUNTS, CONFIRMED
from chains.families.solana.results import blockhash, result_of, sequence, value_of, whole
from chains.families.solana.simulation import Simulation, read_simulation
from chains.families.solana.unsigned_transfers import Budget, unsigned
from chains.families.solana.vetting.balance_changes import Accounts, excess
from chains.families.solana.vetting.messages import (
    COMPUTE_BUDGET,
    MAX_BYTES,
    MAX_UNITS,
    SolanaMessage,
    highest_fee,
    read_action,
    read_message,
    unsigned_copy,
    uses_durable_nonce,
)
from chains.families.solana.vetting.tables import Tables, read_table, writable_accounts
from chains.rpc.json_rpc import Call, JsonRpc, json_object

MAX_FEE = 10_000_000
"""The maximum network fee of a provider's transaction, in lamports (0.01 SOL)."""
_MAX_ACCOUNTS = 100
# Compute budget instructions. Our own limit and price of compute units replace them.
_BUDGET_CODES = (b"\x00", b"\x02", b"\x03")


@dataclass(frozen=True)
class _Wallet:
    """The sender's balances in lamports and base units, and the chain's state for building the transaction."""

    coins: int
    tokens: int
    blockhash: str
    rent_minimum: int
    """The rent-exempt minimum of an account without data, in lamports."""
    tables: Tables


@dataclass(frozen=True)
class _Draft:
    """A transaction to simulate: its bytes, its parsed message and the accounts it can write to."""

    serialized: bytes
    message: SolanaMessage
    writable: tuple[str, ...]

    @property
    def text(self) -> str:
        return base64.b64encode(self.serialized).decode("ascii")


@dataclass(frozen=True)
class _Outcome:
    """The compute units that a successful simulation used, and the sender's remaining lamports."""

    units: int | None
    left: int


def prepare(
    rpc: JsonRpc,
    action: SolanaTransaction | SolanaInstructions,
    sender: str,
    spending: Spending,
    *,
    simulate: bool,
) -> str:
    """Return the unsigned transaction in base64. Raises TransferRefused and ChainError."""
    try:
        if isinstance(action, SolanaInstructions):
            action = _without_budget(action)
        message = _require_signable(read_action(action, sender), sender)
        wallet = _read_wallet(rpc, sender, spending, _table_names(action, message))
        draft = _drafted(action, message, sender, wallet, Budget(MAX_UNITS, 0))
    except ValueError as error:
        raise TransferRefused(Refusal.WOULD_FAIL, note=str(error)) from None
    if not simulate:
        return draft.text
    _require_funds(wallet, spending)
    outcome = _simulated(rpc, draft, sender, spending, wallet)
    if isinstance(action, SolanaTransaction):
        return draft.text
    fees = rpc.batch(
        [("getRecentPrioritizationFees", [list(draft.writable)])], lambda results: unit_price(results[0])
    )
    budget = budget_for(MAX_UNITS if outcome.units is None else outcome.units, fees)
    budget = replace(budget, units=min(budget.units, MAX_UNITS))
    _require_fee(outcome.left + highest_fee(draft.message), wallet, budget.fee)
    return _drafted(action, message, sender, wallet, budget).text


def _require_signable(message: SolanaMessage, sender: str) -> SolanaMessage:
    """Raise ValueError if a signature other than the sender's is missing. Return the message."""
    if message.fee_payer != sender:
        raise ValueError("another wallet is the transaction's fee payer")
    if message.missing != (sender,):
        raise ValueError("the transaction needs a signature other than the wallet's")
    if uses_durable_nonce(message):
        raise ValueError("the transaction uses a durable nonce and never expires")
    if highest_fee(message) > MAX_FEE:
        raise ValueError("the transaction's network fee is too high")
    return message


def _table_names(action: SolanaTransaction | SolanaInstructions, message: SolanaMessage) -> list[str]:
    if isinstance(action, SolanaInstructions):
        return [str(Pubkey.from_string(table)) for table in dict.fromkeys(action.lookup_tables)]
    return list(dict.fromkeys(use.table for use in message.lookup_tables))


def _read_wallet(rpc: JsonRpc, sender: str, spending: Spending, tables: Sequence[str]) -> _Wallet:
    if len(tables) >= _MAX_ACCOUNTS:
        raise ValueError("the transaction names too many lookup tables")
    calls: list[Call] = [
        ("getLatestBlockhash", [CONFIRMED]),
        ("getMultipleAccounts", [[sender, *tables], ACCOUNTS]),
        ("getMinimumBalanceForRentExemption", [0]),
    ]
    if spending.token:
        calls.append(("getTokenAccountsByOwner", [sender, {"mint": spending.token}, ACCOUNTS]))
    latest, accounts, rent_minimum, holdings = rpc.batch(
        calls, lambda results: _wallet_state(results, 1 + len(tables))
    )
    own = accounts[0]
    return _Wallet(
        coins=own.lamports if own else 0,
        tokens=holdings,
        blockhash=latest,
        rent_minimum=rent_minimum,
        tables={name: read_table(table) for name, table in zip(tables, accounts[1:], strict=True)},
    )


def _wallet_state(results: Sequence[Any], count: int) -> tuple[str, list[Account | None], int, int]:
    latest, stored, rent_minimum, *held = results
    holdings = [read_holding(entry) for result in held for entry in sequence(value_of(result))]
    return (
        blockhash(json_object(value_of(latest)).get("blockhash")),
        _accounts(stored, count),
        whole(result_of(rent_minimum)),
        sum(holding.amount for holding in holdings if not holding.is_frozen),
    )


def _accounts(result: Any, count: int) -> list[Account | None]:
    accounts = [read_account(account) for account in sequence(value_of(result))]
    if len(accounts) != count:
        raise ChainError("the node did not return every account")
    return accounts


def _drafted(
    action: SolanaTransaction | SolanaInstructions,
    message: SolanaMessage,
    sender: str,
    wallet: _Wallet,
    budget: Budget,
) -> _Draft:
    """Build the transaction and parse its message. Raises ValueError."""
    if isinstance(action, SolanaInstructions):
        serialized = _compiled(action, sender, wallet, budget)
    elif message.signatures:
        serialized = action.serialized
    else:
        serialized = unsigned_copy(action.serialized, wallet.blockhash)
    parsed = read_message(serialized)
    return _Draft(serialized, parsed, writable_accounts(parsed, wallet.tables))


def _without_budget(action: SolanaInstructions) -> SolanaInstructions:
    kept = tuple(
        instruction
        for instruction in action.instructions
        if not (instruction.program == COMPUTE_BUDGET and instruction.data[:1] in _BUDGET_CODES)
    )
    return replace(action, instructions=kept)


def _compiled(action: SolanaInstructions, sender: str, wallet: _Wallet, budget: Budget) -> bytes:
    instructions = [
        Instruction(
            Pubkey.from_string(instruction.program),
            instruction.data,
            [AccountMeta(Pubkey.from_string(key), *flags) for key, *flags in instruction.accounts],
        )
        for instruction in action.instructions
    ]
    tables = [
        AddressLookupTableAccount(Pubkey.from_string(name), [Pubkey.from_string(key) for key in keys])
        for name, keys in wallet.tables.items()
    ]
    try:
        compiled = base64.b64decode(unsigned(sender, instructions, budget, wallet.blockhash, tables))
    except CompileError as error:
        raise ValueError(f"the instructions do not fit a transaction: {error}") from None
    if len(compiled) > MAX_BYTES:
        raise ValueError("the instructions do not fit a transaction")
    return compiled


def _require_funds(wallet: _Wallet, spending: Spending) -> None:
    has = wallet.tokens if spending.token else wallet.coins
    if has < spending.amount:
        raise TransferRefused(Refusal.INSUFFICIENT_FUNDS, missing=spending.amount - has)


def _simulated(rpc: JsonRpc, draft: _Draft, sender: str, spending: Spending, wallet: _Wallet) -> _Outcome:
    """Simulate the draft. Raises TransferRefused if it fails or exceeds `spending`."""
    before = _before(rpc, draft.writable)
    # Only token accounts, new accounts and the wallet can show debits. Other accounts may be large.
    addresses = [key for key in draft.writable if key == sender or _may_be_the_senders(before[key])]
    options = {
        "encoding": "base64",
        "sigVerify": False,
        "replaceRecentBlockhash": not draft.message.signatures,
        "accounts": {"encoding": "base64", "addresses": addresses},
        **CONFIRMED,
    }
    call: Call = ("simulateTransaction", [draft.text, options])
    simulation = rpc.batch([call], lambda results: read_simulation(results[0], account_count=len(addresses)))
    fee = highest_fee(draft.message)
    if simulation.error is not None:
        raise _refusal(simulation, wallet, spending, fee)
    after = dict(zip(addresses, simulation.accounts, strict=True))
    beyond = excess(sender, {key: before[key] for key in addresses}, after, spending=spending, fee=fee)
    if beyond is not None:
        raise TransferRefused(Refusal.WOULD_FAIL, note=f"the transaction was rejected: {beyond}")
    own = after[sender]
    return _Outcome(simulation.units, own.lamports if own else 0)


def _before(rpc: JsonRpc, keys: Sequence[str]) -> Accounts:
    chunks = [keys[start : start + _MAX_ACCOUNTS] for start in range(0, len(keys), _MAX_ACCOUNTS)]
    calls: list[Call] = [("getMultipleAccounts", [list(chunk), ACCOUNTS]) for chunk in chunks]

    def read(results: Sequence[Any]) -> dict[str, Account | None]:
        accounts: dict[str, Account | None] = {}
        for chunk, result in zip(chunks, results, strict=True):
            accounts |= zip(chunk, _accounts(result, len(chunk)), strict=True)
        return accounts

    return rpc.batch(calls, read)


def _may_be_the_senders(account: Account | None) -> bool:
    return account is None or account.owner in TOKEN_PROGRAMS


def _refusal(simulation: Simulation, wallet: _Wallet, spending: Spending, fee: int) -> TransferRefused:
    """Return why the simulation failed: too few lamports, or the program's error."""
    needed = spending.extra_native + fee + (0 if spending.token else spending.amount)
    if simulation.shortfall:
        return TransferRefused(Refusal.INSUFFICIENT_GAS, missing=simulation.shortfall)
    if simulation.payer_cannot_pay or wallet.coins < needed:
        missing = max(needed + wallet.rent_minimum - wallet.coins, 1)
        return TransferRefused(Refusal.INSUFFICIENT_GAS, missing=missing)
    return TransferRefused(Refusal.WOULD_FAIL, note=simulation.note)


def _require_fee(left: int, wallet: _Wallet, fee: int) -> None:
    """Raise TransferRefused if the remaining lamports can't pay for compute units, which the simulation doesn't
    charge.
    """
    rest = left - fee
    if rest != 0 and rest < wallet.rent_minimum:
        raise TransferRefused(Refusal.INSUFFICIENT_GAS, missing=wallet.rent_minimum - rest)
