"""A thief can build any transaction. The thief's reference never claims more than the thief lost in it."""

import os
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from chains.client import Transfer
from tests.support.solana.answers import Call, Ledger, address, minted, move, program

START = 100
_ACCOUNTS = ("merchant", "spare", "opened", "thief", "hidden", "bridge")
_OWNERS = {"merchant": "merchant", "spare": "merchant", "opened": "merchant"}


@dataclass(frozen=True)
class Step:
    """Move `amount` from one account to another, within a program's call or not.

    If `source` is None, it is minted.
    """

    source: str | None
    target: str
    amount: int
    is_inner: bool
    is_referenced: bool


def steps() -> st.SearchStrategy[list[Step]]:
    """Return all steps except gifts to the thief, which would be the thief's own money."""
    step = st.builds(
        Step,
        st.sampled_from([None, *_ACCOUNTS]),
        st.sampled_from(_ACCOUNTS),
        st.integers(0, 60),
        st.booleans(),
        st.booleans(),
    ).filter(lambda step: step.source not in (None, "bridge") or _owner(step.target) == "merchant")
    return st.lists(step, min_size=1, max_size=8)


def _owner(account: str) -> str:
    return _OWNERS.get(account, "thief" if account == "hidden" else account)


def play(attempted: list[Step]) -> tuple[list[Step], dict[str, int]]:
    """Return the steps for which there is enough money, and each account's balance after them."""
    held = dict.fromkeys(_ACCOUNTS, START) | {"opened": 0}
    done = []
    for step in attempted:
        if step.source is not None and held[step.source] < step.amount:
            continue
        if step.source is not None:
            held[step.source] -= step.amount
        held[step.target] += step.amount
        done.append(step)
    return done, held


def read(done: list[Step], after: dict[str, int], reference: bytes) -> list[Transfer]:
    """Return the transfers that the client reads from a transaction with these steps."""
    mint = address()
    owners = {owner: address() for owner in ("merchant", "thief", "bridge")}
    ledger, keys = Ledger([owners["thief"], owners["merchant"], owners["bridge"]]), {}
    for account in _ACCOUNTS:
        owner = owners[_owner(account)]
        if account in owners:
            keys[account] = ledger.holds(owner, mint, START, after[account])
        else:
            keys[account] = address()
            ledger.has(
                keys[account], mint, (owner, None if account == "opened" else START), (owner, after[account])
            )
    calls = []
    for step in done:
        is_the_bridges_own = step.source == "bridge" and not step.is_inner
        references = [reference] if step.is_referenced and not is_the_bridges_own else []
        target = keys[step.target]
        if step.source is None:
            call = minted(mint, target, owners["bridge"], step.amount)
        else:
            authority = owners[_owner(step.source)]
            call = move(keys[step.source], mint, target, authority, step.amount, *references)
        calls.append(Call(program(), call.accounts, b"", [(call, 2)]) if step.is_inner else call)
    return [moved for moved in ledger.transfers(*calls) if moved.recipient == owners["merchant"]]


@settings(max_examples=300)
@given(steps())
def test_thief_claims_no_more_than_own_loss_and_merchant_gain(attempted: list[Step]) -> None:
    reference = os.urandom(16)
    done, after = play(attempted)
    found = read(done, after, reference)
    claimed: dict[str, int] = {}
    gains: dict[str, int] = {}
    for moved in found:
        gains[moved.account] = moved.gain or 0
        if reference in moved.references:
            claimed[moved.account] = claimed.get(moved.account, 0) + (moved.claimable or 0)
    credited = sum(min(claims, max(gains[account], 0)) for account, claims in claimed.items())
    lost = sum(START - after[account] for account in ("thief", "hidden"))
    gained = sum(after[account] for account in ("merchant", "spare", "opened")) - 2 * START
    assert credited <= max(lost, 0)
    assert credited <= max(gained, 0)
    assert all(not moved.references and not moved.made_by for moved in found if "." in moved.slot)
