"""Build a Solana transfer: read the wallet's balances, simulate the transaction, and return it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median_low
from typing import Any

from solders.instruction import Instruction

from chains.client import ChainError, Refusal, TransferRefused
from chains.facts.cosigning import CannotSponsor
from chains.families.solana.accounts import (
    TOKEN,
    TOKEN_2022,
    TOKEN_PROGRAMS,
    Account,
    Holding,
    mint_decimals,
    read_account,
    read_holding,
    requires_memo,
    spendable,
    why_not_payable,
)
from chains.families.solana.commitments import ACCOUNTS, CONFIRMED
from chains.families.solana.references import reference_key
from chains.families.solana.results import blockhash, result_of, sequence, value_of, whole
from chains.families.solana.simulation import PAYER_LEFT_TOO_LITTLE, read_simulation
from chains.families.solana.unsigned_transfers import (
    MAX_SPONSORED_FEE,
    Budget,
    Mint,
    Part,
    coin_transfer,
    token_account,
    token_transfer,
    unsigned,
)
from chains.rpc.json_rpc import Call, JsonRpc, RpcFault, json_object

_TRIAL_UNITS = 400_000
_UNITS_MARGIN_PERCENT = 125
_SPARE_UNITS = 1_000
# The minimum and maximum price per compute unit, in millionths of a lamport. In between, we use the recent median.
_LOWEST_PRICE, _HIGHEST_PRICE = 1_000, 300_000
# A new blockhash is valid for 150 blocks. One URL may serve several nodes, of which one may be up to 30 blocks behind.
_BLOCKS_VALID, _BLOCKS_BEHIND = 150, 30
_HIGHEST = 2**63 - 1
# The usual size of a new token account; Token-2022 adds extensions.
_TOKEN_ACCOUNT_BYTES = {TOKEN_PROGRAMS[0]: 165, TOKEN_2022: 182}
_NEW_ACCOUNTS: Sequence[Call] = [
    ("getMinimumBalanceForRentExemption", [size]) for size in _TOKEN_ACCOUNT_BYTES.values()
]


@dataclass(frozen=True)
class Order:
    """The requested transfer.

    `token` is a mint, or empty for the native coin. `memo_reference` goes into the memo, if the recipient's token
    account requires one. `sponsor` pays the fee. With `may_open`, the sponsor also pays the rent of the recipient's
    token account. Without a sponsor, the sender pays both.
    """

    token: str
    sender: str
    recipient: str
    amount: int
    reference: bytes | None
    memo_reference: bytes | None = None
    sponsor: str = ""
    may_open: bool = True

    @property
    def fee_payer(self) -> str:
        return self.sponsor or self.sender


@dataclass(frozen=True)
class Built:
    """An unsigned transaction in base64.

    With a sponsor, `last_valid_height` is the last block that can include the transaction. `fee` is the network fee,
    and `deposit` is the rent of the recipient's new token account, both in lamports.
    """

    transaction: str
    fee: int
    deposit: int
    last_valid_height: int


@dataclass(frozen=True)
class _Wallet:
    """The balances to pay with. `holdings` are the token accounts to spend from, in the token's base units. All
    other amounts are in lamports.
    """

    coins: int
    """The lamports of the account that pays the fee."""
    holdings: tuple[Holding, ...]
    mint: Account | None
    recipient: Account | None
    receiving: dict[str, Account | None]
    """The recipient's associated token account under each token program, if it is open."""
    price: int
    blockhash: str
    last_valid_height: int
    rent_minimum: int
    """The rent-exempt minimum of an account without data."""
    new_account: dict[str, int]
    """The rent of a new token account under each token program."""


def build(rpc: JsonRpc, order: Order) -> Built:
    """Simulate the transfer; return the unsigned transaction. Raises TransferRefused and ChainError.

    With a sponsor, also raises CannotSponsor if the sponsor can't pay or isn't allowed to.
    """
    wallet = rpc.batch(_calls(order), lambda results: _wallet(order, results))
    problem = why_not_payable(wallet.recipient)
    if problem:
        raise TransferRefused(Refusal.WOULD_FAIL, note=problem)
    instructions, deposit = _instructions(order, wallet)
    trial = unsigned(order.fee_payer, instructions, Budget(_TRIAL_UNITS, 0), wallet.blockhash)
    options = {"encoding": "base64", "sigVerify": False, "replaceRecentBlockhash": True, **CONFIRMED}
    simulation = rpc.batch(
        [("simulateTransaction", [trial, options])], lambda results: read_simulation(results[0])
    )
    # The simulation doesn't charge for compute units, so the payer's real balance will be lower.
    has_passed = simulation.error is None or simulation.error == PAYER_LEFT_TOO_LITTLE
    spent = deposit + (0 if order.token else order.amount)
    budget = budget_for(
        simulation.units if has_passed and simulation.units is not None else _TRIAL_UNITS, wallet.price
    )
    if order.sponsor:
        budget = replace(budget, signatures=2).at_most(MAX_SPONSORED_FEE)
    _require_coins(order, wallet, spent + budget.fee)
    if not has_passed:
        raise TransferRefused(Refusal.WOULD_FAIL, note=simulation.note)
    transaction = unsigned(order.fee_payer, instructions, budget, wallet.blockhash)
    return Built(transaction, budget.fee, deposit, wallet.last_valid_height)


def account_deposit(rpc: JsonRpc, token: str, recipient: str) -> int:
    """Return the deposit for the recipient's token account of this mint, in lamports; 0 if the account exists."""
    calls = [("getMultipleAccounts", [[token, *_receiving(token, recipient)], ACCOUNTS]), *_NEW_ACCOUNTS]

    def read(results: Sequence[Any]) -> int:
        mint, *receiving = [read_account(account) for account in sequence(value_of(results[0]))]
        opened = _opened(receiving)
        rents = [whole(result_of(result)) for result in results[1:]]
        mint_decimals(mint)
        place = list(_TOKEN_ACCOUNT_BYTES).index(mint.owner if mint else "")
        return 0 if opened[place] else rents[place]

    return rpc.batch(calls, read)


def _instructions(order: Order, wallet: _Wallet) -> tuple[list[Instruction], int]:
    """Return the instructions, and the deposit for the recipient's new token account."""
    if not order.token:
        if wallet.coins < order.amount:
            raise TransferRefused(Refusal.INSUFFICIENT_FUNDS, missing=order.amount - wallet.coins)
        return coin_transfer(order.sender, order.recipient, order.amount, order.reference), 0
    decimals = mint_decimals(wallet.mint)
    program = wallet.mint.owner if wallet.mint else ""
    mint, receiving = Mint(order.token, program, decimals), wallet.receiving[program]
    deposit = 0 if receiving else wallet.new_account[program]
    if order.sponsor and program != TOKEN:
        # The mint's extensions may run other programs, for which the sponsor would pay.
        raise CannotSponsor(f"{order.token} is not a token of the SPL Token program")
    if order.sponsor and deposit and not order.may_open:
        raise CannotSponsor(f"{order.recipient} has no token account, and none may be opened for it")
    moves = token_transfer(
        mint,
        order.sender,
        order.recipient,
        _parts(wallet.holdings, order.amount),
        order.reference,
        memo=_memo(order) if requires_memo(receiving) else None,
        # Without a sponsor, always add the instruction that opens the account, because an existing account may be
        # closed before the transfer is mined. A sponsor opens only accounts for which it has reserved coin.
        opened_by=None if order.sponsor and receiving else order.fee_payer,
    )
    return moves, deposit


def _parts(holdings: Sequence[Holding], amount: int) -> list[Part]:
    """Return the amount that each token account sends, from as few accounts as possible, the largest first."""
    parts, left = [], amount
    for holding in holdings:
        if left > 0:
            parts.append(Part(holding.address, min(holding.amount, left)))
            left -= parts[-1].amount
    if left > 0:
        raise TransferRefused(Refusal.INSUFFICIENT_FUNDS, missing=left)
    return parts


def _memo(order: Order) -> str:
    reference = order.reference or order.memo_reference
    return reference_key(reference) if reference else ""


def _require_coins(order: Order, wallet: _Wallet, needed: int) -> None:
    """Raise if the account that pays the fee would keep less than the rent-exempt minimum, but more than zero."""
    left = wallet.coins - needed
    if left != 0 and left < wallet.rent_minimum:
        if order.sponsor:
            raise CannotSponsor(f"{order.sponsor} lacks {wallet.rent_minimum - left} lamports")
        raise TransferRefused(Refusal.INSUFFICIENT_GAS, missing=wallet.rent_minimum - left)


def _calls(order: Order) -> list[Call]:
    accounts = [order.fee_payer, order.recipient]
    if order.token:
        accounts += [order.token, *_receiving(order.token, order.recipient)]
    calls: list[Call] = [
        ("getLatestBlockhash", [CONFIRMED]),
        ("getMultipleAccounts", [accounts, ACCOUNTS]),
        ("getRecentPrioritizationFees", [accounts[-1:]]),
        ("getMinimumBalanceForRentExemption", [0]),
    ]
    calls += _NEW_ACCOUNTS
    if order.token:
        calls.append(("getTokenAccountsByOwner", [order.sender, {"mint": order.token}, ACCOUNTS]))
    if order.sponsor:
        calls.append(("getBlockHeight", [CONFIRMED]))
    return calls


def _receiving(token: str, recipient: str) -> list[str]:
    return [token_account(recipient, token, program) for program in _TOKEN_ACCOUNT_BYTES]


def _opened(receiving: Sequence[Account | None]) -> list[Account | None]:
    """Replace accounts that only hold coin by None, because anyone can send coin before a token account is opened."""
    return [each if each is not None and each.is_token_account else None for each in receiving]


def _wallet(order: Order, results: Sequence[Any]) -> _Wallet:
    latest, stored, prices, rent_minimum, *rest = results
    accounts = [read_account(account) for account in sequence(value_of(stored))]
    if len(accounts) != (5 if order.token else 2):
        raise ChainError("the node did not return every account")
    fee_payer, recipient = accounts[:2]
    mint = accounts[2] if order.token else None
    receiving = _opened(accounts[3:]) if order.token else [None] * len(_TOKEN_ACCOUNT_BYTES)
    entries = sequence(value_of(rest[len(_TOKEN_ACCOUNT_BYTES)])) if order.token else []
    block = json_object(value_of(latest))
    return _Wallet(
        coins=fee_payer.lamports if fee_payer else 0,
        holdings=tuple(spendable(map(read_holding, entries))),
        mint=mint,
        recipient=recipient,
        receiving=dict(zip(_TOKEN_ACCOUNT_BYTES, receiving, strict=True)),
        price=unit_price(prices),
        blockhash=blockhash(block.get("blockhash")),
        last_valid_height=_last_valid_height(block, results[-1]) if order.sponsor else 0,
        rent_minimum=whole(result_of(rent_minimum)),
        new_account={
            program: whole(result_of(result))
            for program, result in zip(_TOKEN_ACCOUNT_BYTES, rest, strict=False)
        },
    )


def _last_valid_height(block: Mapping[str, Any], newest: Any) -> int:
    """Return the last height at which a blockhash is valid.

    Raises ChainError if the height is too far from the newest block's height. A false height might never be reached.
    The transaction would then never expire, and would block its request.
    """
    last, height = whole(block.get("lastValidBlockHeight")), whole(result_of(newest))
    if not height <= last <= min(height + _BLOCKS_VALID + _BLOCKS_BEHIND, _HIGHEST):
        raise ChainError(
            f"the node's blockhash is valid up to block {last}, and its newest block is {height}"
        )
    return last


def budget_for(used: int, price: int) -> Budget:
    return Budget(used * _UNITS_MARGIN_PERCENT // 100 + _SPARE_UNITS, price)


def unit_price(result: Any) -> int:
    """Return the price per compute unit from recent fees; the minimum if the node returns no fees."""
    paid = [] if isinstance(result, RpcFault) else sequence(result)
    fees = [whole(json_object(entry).get("prioritizationFee")) for entry in paid]
    return max(_LOWEST_PRICE, min(median_low(fees), _HIGHEST_PRICE)) if fees else _LOWEST_PRICE
