"""Compare a simulated transaction's effect on a wallet with its spending limits.

The input is every account that the transaction can write to, before and after the simulation. So no call can reach the
wallet's funds in other accounts. SOL and wrapped SOL count as one token.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from chains.client import Spending
from chains.families.solana.accounts import SYSTEM, WRAPPED_SOL, Account, TokenAccount, read_token_account

RENT_ALLOWANCE = 10_000_000
"""Lamports (0.01 SOL) that the transaction may deposit in new accounts that aren't the wallet's own.

A token account costs about 0.002 SOL. A bridge's record of a message costs up to 0.004 SOL.
"""

Accounts = Mapping[str, Account | None]


@dataclass(frozen=True)
class _Held:
    """What a wallet holds in these accounts: its token accounts, and all of its lamports."""

    tokens: Mapping[str, TokenAccount]
    lamports: int

    def by_mint(self) -> Counter[str]:
        sums: Counter[str] = Counter()
        for account in self.tokens.values():
            sums[account.mint] += account.amount
        return sums


def excess(sender: str, before: Accounts, after: Accounts, *, spending: Spending, fee: int) -> str | None:
    """Return a sentence that says how the transaction exceeds `spending`; None if it doesn't.

    `fee` is the largest possible network fee in lamports. `before` and `after` have the same keys.
    """
    had, has = _held(sender, before), _held(sender, after)
    return (
        _wallet_problem(before.get(sender), after.get(sender))
        or _rights_problem(sender, had, after)
        or _tokens_problem(had, has, spending)
        or _lamports_problem(had.lamports - has.lamports, _deposits(before, after, has), spending, fee)
    )


def _held(sender: str, accounts: Accounts) -> _Held:
    tokens = {
        address: token
        for address, account in accounts.items()
        if account and account.is_token_account and (token := read_token_account(account)).owner == sender
    }
    own = accounts.get(sender)
    lamports = sum(account.lamports for address in tokens if (account := accounts[address]))
    return _Held(tokens, lamports + (own.lamports if own else 0))


def _wallet_problem(before: Account | None, after: Account | None) -> str | None:
    """Return the problem if the wallet's own account changed in more than its lamports; otherwise None."""
    if after is None:
        return None
    was = before or Account(0, SYSTEM, b"", executable=False)
    if (after.owner, after.data, after.executable) != (was.owner, was.data, was.executable):
        return "it would hand the wallet itself to a program"
    return None


def _rights_problem(sender: str, had: _Held, after: Accounts) -> str | None:
    """Return the problem if another account would gain a right over the sender's token accounts; otherwise None."""
    for address, account in after.items():
        if account is None or not account.is_token_account:
            continue
        was, now = had.tokens.get(address), read_token_account(account)
        if now.owner != sender:
            if was is not None:
                return "it would transfer ownership of one of the wallet's token accounts"
            continue
        if now.delegate is not None and not (
            was and was.delegate == now.delegate and now.delegated <= was.delegated
        ):
            return "it would let another account spend from the wallet later"
        if now.close_authority is not None and now.close_authority not in (
            sender,
            was and was.close_authority,
        ):
            return "it would let another account close one of the wallet's token accounts"
        if now.is_frozen and not (was and was.is_frozen):
            return "it would freeze one of the wallet's token accounts"
    return None


def _tokens_problem(had: _Held, has: _Held, spending: Spending) -> str | None:
    now = has.by_mint()
    for mint, amount in had.by_mint().items():
        if mint == WRAPPED_SOL:
            continue
        allowed = spending.amount if mint == spending.token else 0
        if amount - now[mint] > allowed:
            return f"it would spend {amount - now[mint]} of the token {mint}, but may spend {allowed}"
    return None


def _lamports_problem(lost: int, deposits: int, spending: Spending, fee: int) -> str | None:
    price = spending.amount if spending.token in ("", WRAPPED_SOL) else 0
    allowed = price + spending.extra_native + fee + min(deposits, RENT_ALLOWANCE)
    return f"it would spend {lost} lamports, but may spend {allowed}" if lost > allowed else None


def _deposits(before: Accounts, after: Accounts, has: _Held) -> int:
    """Return the lamports in new accounts that have data and aren't the sender's own."""
    return sum(
        account.lamports
        for address, account in after.items()
        if account and not before.get(address) and account.owner != SYSTEM and address not in has.tokens
    )
