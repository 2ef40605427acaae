"""Build a Solana transfer: read the wallet's balances, simulate the transaction, return it."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

from solders.instruction import Instruction

from chains.client import ChainError, Refusal, TransferRefused
from chains.families.solana.accounts import (
    TOKEN_2022,
    TOKEN_PROGRAMS,
    Account,
    Holding,
    mint_decimals,
    read_account,
    read_holding,
    why_not_payable,
)
from chains.families.solana.answers import blockhash, mapping, sequence, sound, value_of, whole
from chains.families.solana.commitments import ACCOUNTS, CONFIRMED
from chains.families.solana.simulation import PAYER_LEFT_TOO_LITTLE, read_simulation
from chains.families.solana.unsigned_transfers import (
    Budget,
    TokenSource,
    coin_transfer,
    token_account,
    token_transfer,
    unsigned,
)
from chains.rpc.json_rpc import Call, JsonRpc, RpcFault

_TRIAL_UNITS = 400_000
_UNITS_MARGIN_PERCENT = 125
_SPARE_UNITS = 1_000
# The bounds of the price per compute unit, in millionths of a lamport; between them, the recent median is offered.
_LOWEST_PRICE, _HIGHEST_PRICE = 1_000, 300_000
# The size of a new token account: Token-2022 adds extensions, of which these two are the usual ones.
_TOKEN_ACCOUNT_BYTES = {TOKEN_PROGRAMS[0]: 165, TOKEN_2022: 182}


@dataclass(frozen=True)
class Order:
    """The requested transfer; `token` is a mint, or empty for the native coin."""

    token: str
    sender: str
    recipient: str
    amount: int
    reference: bytes | None


@dataclass(frozen=True)
class _Wallet:
    """The payer's balances. Amounts are in lamports, `holdings` in the token's base units, largest first."""

    coins: int
    holdings: tuple[Holding, ...]
    mint: Account | None
    recipient: Account | None
    receiving: dict[str, Account | None]
    """The recipient's associated token account under each token program."""
    price: int
    blockhash: str
    least: int
    """The rent-exempt minimum of an account without data."""
    new_account: dict[str, int]
    """What a new token account costs under each token program."""


def build(rpc: JsonRpc, order: Order) -> str:
    """Return the unsigned transaction in base64; it was simulated. Raises TransferRefused and ChainError."""
    wallet = rpc.batch(_questions(order), lambda answers: _wallet(order, answers))
    problem = why_not_payable(wallet.recipient)
    if problem:
        raise TransferRefused(Refusal.WOULD_FAIL, note=problem)
    instructions, deposit = _instructions(order, wallet)
    tried = unsigned(order.sender, instructions, Budget(_TRIAL_UNITS, 0), wallet.blockhash)
    options = {"encoding": "base64", "sigVerify": False, "replaceRecentBlockhash": True, **CONFIRMED}
    simulation = rpc.batch(
        [("simulateTransaction", [tried, options])], lambda answers: read_simulation(answers[0])
    )
    # The simulation pays nothing for compute units, so the payer's real balance will be lower.
    is_sound = simulation.error is None or simulation.error == PAYER_LEFT_TOO_LITTLE
    spent = deposit + (0 if order.token else order.amount)
    budget = budget_for(
        simulation.units if is_sound and simulation.units is not None else _TRIAL_UNITS, wallet.price
    )
    _demand_coins(wallet, spent + budget.fee)
    if not is_sound:
        raise TransferRefused(Refusal.WOULD_FAIL, note=simulation.note)
    return unsigned(order.sender, instructions, budget, wallet.blockhash)


def _instructions(order: Order, wallet: _Wallet) -> tuple[list[Instruction], int]:
    """Return the instructions, and what the payer deposits for the recipient's new token account."""
    if not order.token:
        if wallet.coins < order.amount:
            raise TransferRefused(Refusal.INSUFFICIENT_FUNDS, missing=order.amount - wallet.coins)
        return coin_transfer(order.sender, order.recipient, order.amount, order.reference), 0
    decimals = mint_decimals(wallet.mint)
    usable = [holding for holding in wallet.holdings if not holding.is_frozen]
    most = usable[0].amount if usable else 0
    if most < order.amount:
        raise TransferRefused(Refusal.INSUFFICIENT_FUNDS, missing=order.amount - most)
    program = wallet.mint.owner if wallet.mint else ""
    source = TokenSource(usable[0].address, order.token, program, decimals)
    deposit = 0 if wallet.receiving[program] else wallet.new_account[program]
    moves = token_transfer(source, order.sender, order.recipient, order.amount, order.reference)
    return moves, deposit


def _demand_coins(wallet: _Wallet, needed: int) -> None:
    """Raise TransferRefused unless the wallet can pay and then has either nothing or the rent-exempt minimum left."""
    left = wallet.coins - needed
    if left != 0 and left < wallet.least:
        raise TransferRefused(Refusal.INSUFFICIENT_GAS, missing=wallet.least - left)


def _questions(order: Order) -> list[Call]:
    accounts = [order.sender, order.recipient]
    if order.token:
        accounts += [order.token, *_receiving(order)]
    calls: list[Call] = [
        ("getLatestBlockhash", [CONFIRMED]),
        ("getMultipleAccounts", [accounts, ACCOUNTS]),
        ("getRecentPrioritizationFees", [accounts[-1:]]),
        ("getMinimumBalanceForRentExemption", [0]),
    ]
    calls += [("getMinimumBalanceForRentExemption", [size]) for size in _TOKEN_ACCOUNT_BYTES.values()]
    if order.token:
        calls.append(("getTokenAccountsByOwner", [order.sender, {"mint": order.token}, ACCOUNTS]))
    return calls


def _receiving(order: Order) -> list[str]:
    return [token_account(order.recipient, order.token, program) for program in _TOKEN_ACCOUNT_BYTES]


def _wallet(order: Order, answers: Sequence[Any]) -> _Wallet:
    latest, stored, prices, least, *rest = answers
    accounts = [read_account(account) for account in sequence(value_of(stored))]
    if len(accounts) != (5 if order.token else 2):
        raise ChainError("the node did not answer for every account")
    sender, recipient = accounts[:2]
    mint = accounts[2] if order.token else None
    receiving = accounts[3:] if order.token else [None] * len(_TOKEN_ACCOUNT_BYTES)
    entries = sequence(value_of(rest[len(_TOKEN_ACCOUNT_BYTES)])) if order.token else []
    holdings = sorted(map(read_holding, entries), key=lambda holding: holding.amount, reverse=True)
    return _Wallet(
        coins=sender.lamports if sender else 0,
        holdings=tuple(holdings),
        mint=mint,
        recipient=recipient,
        receiving=dict(zip(_TOKEN_ACCOUNT_BYTES, receiving, strict=True)),
        price=unit_price(prices),
        blockhash=blockhash(mapping(value_of(latest)).get("blockhash")),
        least=whole(sound(least)),
        new_account={
            program: whole(sound(answer)) for program, answer in zip(_TOKEN_ACCOUNT_BYTES, rest, strict=False)
        },
    )


def budget_for(used: int, price: int) -> Budget:
    """Return the compute budget for a transaction whose simulation used `used` units."""
    return Budget(used * _UNITS_MARGIN_PERCENT // 100 + _SPARE_UNITS, price)


def unit_price(answer: Any) -> int:
    """Return the price per compute unit from recent fees; the minimum if the node doesn't return any."""
    paid = [] if isinstance(answer, RpcFault) else sequence(answer)
    fees = [whole(mapping(entry).get("prioritizationFee")) for entry in paid]
    return max(_LOWEST_PRICE, min(median_low(fees), _HIGHEST_PRICE)) if fees else _LOWEST_PRICE
