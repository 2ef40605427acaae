"""The changes that a transaction may make to a wallet: the price, its fees, deposits, and nothing else."""

from dataclasses import dataclass, field, replace

import pytest
from solders.pubkey import Pubkey

from chains.client import Spending
from chains.families.solana.accounts import SYSTEM, TOKEN, WRAPPED_SOL, Account
from chains.families.solana.vetting.balance_changes import RENT_ALLOWANCE, Accounts, excess
from demo.solana.ledger import known_key

# These keys are the same in each process, because tests are named after them.
OWNER, THIEF, USDC, OTHER = (str(known_key(name).pubkey()) for name in ("owner", "thief", "usdc", "other"))
SPENT, SPARE, WRAPPED, NEW = (str(known_key(name).pubkey()) for name in ("spent", "spare", "wrapped", "new"))
RENT, FEE, PRICE = 2_039_280, 5_000, 700
USUAL, FROZEN = 1, 2


@dataclass(frozen=True)
class Held:
    """A token account, in terms that are short for tests."""

    mint: str
    amount: int
    owner: str = OWNER
    delegate: str | None = None
    delegated: int = 0
    closer: str | None = None
    state: int = USUAL
    lamports: int = field(default=RENT)

    def stored(self) -> Account:
        data = b"".join(
            [
                bytes(Pubkey.from_string(self.mint)),
                bytes(Pubkey.from_string(self.owner)),
                self.amount.to_bytes(8, "little"),
                optional(self.delegate),
                bytes([self.state]),
                bytes(12),
                self.delegated.to_bytes(8, "little"),
                optional(self.closer),
            ]
        )
        return Account(self.lamports, TOKEN, data, executable=False)


def optional(key: str | None) -> bytes:
    return (1).to_bytes(4, "little") + bytes(Pubkey.from_string(key)) if key else bytes(36)


def coins(lamports: int, owner: str = SYSTEM, data: bytes = b"") -> Account:
    return Account(lamports, owner, data, executable=False)


SOME, MORE = Held(USDC, 1_000), Held(OTHER, 50)
WITH_SOL = Held(WRAPPED_SOL, 500, lamports=RENT + 500)
BEFORE: Accounts = {
    OWNER: coins(10**9),
    SPENT: SOME.stored(),
    SPARE: MORE.stored(),
    WRAPPED: WITH_SOL.stored(),
    NEW: None,
    THIEF: coins(1),
}
PAID = {OWNER: coins(10**9 - FEE), SPENT: replace(SOME, amount=1_000 - PRICE).stored()}


def problem(
    changed: dict[str, Account | None], *, before: Accounts = BEFORE, token: str = USDC, extra: int = 0
) -> str | None:
    after = {**before, **PAID, **changed}
    return excess(OWNER, before, after, spending=Spending(token, PRICE, extra), fee=FEE)


def test_the_price_and_the_fee_may_be_taken() -> None:
    assert problem({}) is None
    assert problem({SPENT: None, OWNER: coins(10**9 - FEE + RENT)}) == (
        f"it would spend 1000 of the token {USDC}, but may spend {PRICE}"
    )


@pytest.mark.parametrize(
    ("beyond", "changed"),
    [
        (f"the token {USDC}", {SPENT: replace(SOME, amount=1_000 - PRICE - 1).stored()}),
        (f"the token {OTHER}", {SPARE: replace(MORE, amount=49).stored()}),
        ("lamports", {OWNER: coins(10**9 - FEE - 1)}),
        ("lamports", {OWNER: None}),
        ("lamports", {SPARE: replace(MORE, lamports=RENT - 1).stored()}),
        ("lamports", {WRAPPED: replace(WITH_SOL, amount=499, lamports=RENT + 499).stored()}),
        ("program", {OWNER: coins(10**9 - FEE, owner=TOKEN)}),
        ("program", {OWNER: coins(10**9 - FEE, data=b"\0")}),
        ("program", {OWNER: replace(coins(10**9 - FEE), executable=True)}),
        ("transfer ownership", {SPARE: replace(MORE, owner=THIEF).stored()}),
        ("spend", {SPARE: replace(MORE, delegate=THIEF, delegated=1).stored()}),
        ("spend", {NEW: replace(MORE, amount=0, delegate=THIEF).stored()}),
        ("close", {SPARE: replace(MORE, closer=THIEF).stored()}),
        ("close", {NEW: replace(MORE, amount=0, closer=THIEF).stored()}),
        ("freeze", {SPARE: replace(MORE, state=FROZEN).stored()}),
    ],
)
def test_what_goes_beyond_is_said(beyond: str, changed: dict[str, Account | None]) -> None:
    said = problem(changed)
    assert said is not None
    assert beyond in said


def test_what_was_so_before_may_stay_so() -> None:
    odd = replace(MORE, delegate=THIEF, delegated=5, closer=THIEF, state=FROZEN)
    before = {**BEFORE, SPARE: odd.stored()}
    assert problem({}, before=before) is None
    assert problem({SPARE: replace(odd, delegated=4).stored()}, before=before) is None
    for grown in (replace(odd, delegated=6), replace(odd, delegate=USDC), replace(odd, closer=USDC)):
        assert problem({SPARE: grown.stored()}, before=before) is not None
    assert problem({SPARE: replace(MORE, closer=OWNER).stored()}) is None


def test_a_deposit_for_an_account_of_somebody_elses_is_bounded() -> None:
    def making(new: Account, lamports: int) -> str | None:
        return problem({NEW: new, OWNER: coins(10**9 - FEE - lamports)})

    theirs = Held(USDC, 0, owner=THIEF)
    assert making(theirs.stored(), RENT) is None
    assert making(theirs.stored(), RENT + 1) is not None
    assert making(coins(RENT_ALLOWANCE, owner=USDC, data=b"x"), RENT_ALLOWANCE) is None
    assert making(coins(RENT_ALLOWANCE + 1, owner=USDC, data=b"x"), RENT_ALLOWANCE + 1) is not None


def test_lamports_for_a_wallet_that_is_new_are_no_deposit() -> None:
    assert problem({NEW: coins(RENT), OWNER: coins(10**9 - FEE - RENT)}) is not None


def test_lamports_for_an_account_that_was_there_are_no_deposit() -> None:
    before = {**BEFORE, NEW: Held(USDC, 0, owner=THIEF).stored()}
    richer = Held(USDC, 0, owner=THIEF, lamports=2 * RENT).stored()
    assert problem({NEW: richer, OWNER: coins(10**9 - FEE - RENT)}, before=before) is not None


def test_new_account_of_wallet_allows_only_its_rent_deposit() -> None:
    own = Held(OTHER, 0).stored()
    assert problem({NEW: own, OWNER: coins(10**9 - FEE - RENT)}) is None
    assert problem({NEW: own, OWNER: coins(10**9 - FEE - RENT - 1)}) is not None


def test_tokens_may_move_between_the_wallets_own_accounts() -> None:
    moved = {SPARE: replace(MORE, amount=0).stored(), NEW: replace(MORE, lamports=RENT).stored()}
    assert problem({**moved, OWNER: coins(10**9 - FEE - RENT)}) is None


@pytest.mark.parametrize("token", ["", WRAPPED_SOL])
def test_sol_and_wrapped_sol_are_one(token: str) -> None:
    untouched = {SPENT: SOME.stored()}
    by_coin = {**untouched, OWNER: coins(10**9 - FEE - PRICE)}
    by_wrapped = {
        **untouched,
        OWNER: coins(10**9 - FEE - PRICE + 500),
        WRAPPED: replace(WITH_SOL, amount=0, lamports=RENT).stored(),
    }
    unwrapped = {**untouched, OWNER: coins(10**9 - FEE - PRICE + 500 + RENT), WRAPPED: None}
    for changed in (by_coin, by_wrapped, unwrapped):
        assert problem(changed, token=token) is None
        own = changed[OWNER]
        assert own is not None
        more = {**changed, OWNER: coins(own.lamports - 1)}
        assert problem(more, token=token) is not None
        assert problem(more, token=token, extra=1) is None


def test_the_tokens_of_others_are_none_of_it() -> None:
    theirs = Held(OTHER, 10**6, owner=THIEF, delegate=USDC, closer=USDC)
    before = {**BEFORE, NEW: theirs.stored()}
    assert problem({NEW: replace(theirs, amount=0).stored()}, before=before) is None
