"""Any response in place of a transaction is either read consistently or rejected as malformed."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from chains.client import ChainError, Transfer
from chains.families.solana.transactions.transfers import Entry, read_entry, transfers
from tests.support.solana.ledger import LocalLedger, new_address

JUNK: list[Any] = [
    None, True, -1, 0, 255, 2**64, 10**400, 1.5, float("nan"), "", "0", "-1", "1e9", "١", "x" * 5000, "\ud800",
    "1" * 44, "O0Il", [], [None], [[]], [0, 0], {}, {"": None}, {"amount": "1"},
]  # fmt: skip


@pytest.fixture(scope="module")
def transaction(local_ledger: LocalLedger) -> dict[str, Any]:
    """A token payment that created the recipient's token account, in a node's format."""
    signature = local_ledger.send(local_ledger.token_move(new_address(), 5, bytes(16)))
    options = {"encoding": "json", "maxSupportedTransactionVersion": 0, "commitment": "confirmed"}
    value = local_ledger.rpc("getTransaction", signature, options)
    assert len(transfers(read_entry(value))) == 2
    assert value["meta"]["innerInstructions"]
    return dict(value)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to each value inside, including objects and lists."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


def replaced(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    changed = copy.deepcopy(value)
    inside = changed
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = junk
    return changed


def without(value: Any, path: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(value)
    inside = changed
    for key in path[:-1]:
        inside = inside[key]
    del inside[path[-1]]
    return changed


def read(value: Any) -> Entry | None:
    try:
        entry = read_entry(value)
        transfers(entry)
    except ChainError:
        return None
    return entry


def claims(entry: Entry) -> list[Transfer]:
    return [moved for moved in transfers(entry) if moved.claimable]


def invented(entry: Entry | None, true: list[Transfer]) -> list[Transfer]:
    """Return the transfers that could be credited with more than any true transfer could."""

    def is_within(moved: Transfer, real: Transfer) -> bool:
        same = (moved.token, moved.recipient, moved.account) == (real.token, real.recipient, real.account)
        by_no_more = set(moved.references) <= set(real.references) and moved.made_by in ("", real.made_by)
        return same and by_no_more and moved.claimable <= real.claimable

    return [
        moved
        for moved in (claims(entry) if entry is not None else [])
        if not any(is_within(moved, real) for real in true)
    ]


def test_junk_in_any_field_credits_no_money(transaction: dict[str, Any]) -> None:
    true = claims(read_entry(transaction))
    assert [moved.claimable for moved in true if moved.token] == [5]
    accepted, refused = 0, 0
    for path in places(transaction):
        for junk in JUNK:
            entry = read(replaced(transaction, path, junk))
            accepted, refused = accepted + (entry is not None), refused + (entry is None)
            assert invented(entry, true) == [], (path, junk)
    assert accepted + refused > 3_000
    assert accepted
    assert refused


def test_missing_valuein_any_field_credits_no_money(transaction: dict[str, Any]) -> None:
    true = claims(read_entry(transaction))
    accepted, refused = 0, 0
    for path in places(transaction):
        if path:
            entry = read(without(transaction, path))
            accepted, refused = accepted + (entry is not None), refused + (entry is None)
            assert invented(entry, true) == [], path
    assert accepted
    assert refused


def test_empty_or_missing_fields_change_no_transfer(transaction: dict[str, Any]) -> None:
    """Old nodes don't record inner instructions. Then the transaction is incomplete."""
    moved = transfers(read_entry(transaction))
    accepted = 0
    for path in places(transaction):
        if not path:
            continue
        is_field = isinstance(path[-1], str)
        missing = without(transaction, path) if is_field else None
        for changed in (replaced(transaction, path, None), missing):
            entry = read(changed)
            accepted += entry is not None
            assert entry is None or not entry.has_inner or transfers(entry) == moved, path
    assert accepted


@pytest.mark.parametrize("balances", ["preTokenBalances", "postTokenBalances"])
def test_missing_token_balances_are_malformed(transaction: dict[str, Any], balances: str) -> None:
    """A missing list isn't an empty one.

    Otherwise, every balance would look like a gain, or nothing would have arrived.
    """
    for junk in (None, {}, "[]"):
        assert read(replaced(transaction, ("meta", balances), junk)) is None
    assert read(without(transaction, ("meta", balances))) is None


def test_inner_calls_of_no_instruction_are_malformed(
    transaction: dict[str, Any],
) -> None:
    path = ("meta", "innerInstructions", 0, "index")
    assert read(replaced(transaction, path, 7)) is None


@pytest.mark.parametrize(
    "path",
    [
        ("slot",),
        ("meta", "fee"),
        ("meta", "preBalances"),
        ("meta", "postBalances", 0),
        ("meta", "postTokenBalances", 0, "owner"),
        ("meta", "postTokenBalances", 0, "mint"),
        ("meta", "postTokenBalances", 0, "accountIndex"),
        ("meta", "postTokenBalances", 0, "uiTokenAmount", "amount"),
        ("transaction", "signatures"),
        ("transaction", "message", "accountKeys", 0),
        ("transaction", "message", "header"),
    ],
)
def test_junk_in_fields_that_decide_about_money_is_malformed(
    transaction: dict[str, Any], path: tuple[Any, ...]
) -> None:
    for junk in (None, True, -1, 1.5, "x", {}):
        assert read(replaced(transaction, path, junk)) is None, junk


def test_missing_error_field_is_no_success(transaction: dict[str, Any]) -> None:
    changed = copy.deepcopy(transaction)
    del changed["meta"]["err"]
    assert read(changed) is None
