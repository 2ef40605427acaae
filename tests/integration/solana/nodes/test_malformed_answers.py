"""Whatever a node answers in place of a transaction is read as one that fits together, or is no answer."""

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
def true_answer(local_ledger: LocalLedger) -> dict[str, Any]:
    """A token payment that made the recipient's account, as the node tells it."""
    signature = local_ledger.send(local_ledger.token_move(new_address(), 5, bytes(16)))
    options = {"encoding": "json", "maxSupportedTransactionVersion": 0, "commitment": "confirmed"}
    answer = local_ledger.rpc("getTransaction", signature, options)
    assert len(transfers(read_entry(answer))) == 2
    assert answer["meta"]["innerInstructions"]
    return dict(answer)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each value inside, containers included."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


def replaced(answer: Any, path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    changed = copy.deepcopy(answer)
    inside = changed
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = junk
    return changed


def without(answer: Any, path: tuple[Any, ...]) -> Any:
    changed = copy.deepcopy(answer)
    inside = changed
    for key in path[:-1]:
        inside = inside[key]
    del inside[path[-1]]
    return changed


def read(answer: Any) -> Entry | None:
    try:
        entry = read_entry(answer)
        transfers(entry)
    except ChainError:
        return None
    return entry


def claims(entry: Entry) -> list[Transfer]:
    """Return the transfers that could be credited."""
    return [moved for moved in transfers(entry) if moved.claimable]


def invented(entry: Entry | None, true: list[Transfer]) -> list[Transfer]:
    """Return the transfers that more could be credited of, or by more, than of any true one."""

    def is_within(moved: Transfer, real: Transfer) -> bool:
        same = (moved.token, moved.recipient, moved.account) == (real.token, real.recipient, real.account)
        by_no_more = set(moved.references) <= set(real.references) and moved.made_by in ("", real.made_by)
        return same and by_no_more and moved.claimable <= real.claimable

    return [
        moved
        for moved in (claims(entry) if entry is not None else [])
        if not any(is_within(moved, real) for real in true)
    ]


def test_junk_in_any_place_is_no_answer_or_makes_no_money(true_answer: dict[str, Any]) -> None:
    true = claims(read_entry(true_answer))
    assert [moved.claimable for moved in true if moved.token] == [5]
    accepted, refused = 0, 0
    for path in places(true_answer):
        for junk in JUNK:
            entry = read(replaced(true_answer, path, junk))
            accepted, refused = accepted + (entry is not None), refused + (entry is None)
            assert invented(entry, true) == [], (path, junk)
    assert accepted + refused > 3_000
    assert accepted
    assert refused


def test_a_value_that_is_missing_is_no_answer_or_makes_no_money(true_answer: dict[str, Any]) -> None:
    true = claims(read_entry(true_answer))
    accepted, refused = 0, 0
    for path in places(true_answer):
        if path:
            entry = read(without(true_answer, path))
            accepted, refused = accepted + (entry is not None), refused + (entry is None)
            assert invented(entry, true) == [], path
    assert accepted
    assert refused


def test_no_place_that_is_empty_or_missing_changes_what_was_moved(true_answer: dict[str, Any]) -> None:
    """Nodes of old versions do not record inner instructions: then the transaction is not complete."""
    moved = transfers(read_entry(true_answer))
    accepted = 0
    for path in places(true_answer):
        if not path:
            continue
        is_field = isinstance(path[-1], str)
        missing = without(true_answer, path) if is_field else None
        for changed in (replaced(true_answer, path, None), missing):
            entry = read(changed)
            accepted += entry is not None
            assert entry is None or not entry.has_inner or transfers(entry) == moved, path
    assert accepted


@pytest.mark.parametrize("balances", ["preTokenBalances", "postTokenBalances"])
@pytest.mark.parametrize("junk", [None, {}, "[]"])
def test_without_token_balances_there_is_no_answer(
    true_answer: dict[str, Any], balances: str, junk: Any
) -> None:
    """Missing ones are not empty ones: everything held would be a gain, or nothing would have arrived."""
    assert read(replaced(true_answer, ("meta", balances), junk)) is None
    assert read(without(true_answer, ("meta", balances))) is None


def test_inner_instructions_of_an_instruction_that_is_not_there_are_no_answer(
    true_answer: dict[str, Any],
) -> None:
    path = ("meta", "innerInstructions", 0, "index")
    assert read(replaced(true_answer, path, 7)) is None


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
@pytest.mark.parametrize("junk", [None, True, -1, 1.5, "x", {}])
def test_what_money_depends_on_is_never_guessed(
    true_answer: dict[str, Any], path: tuple[Any, ...], junk: Any
) -> None:
    assert read(replaced(true_answer, path, junk)) is None


def test_an_error_that_is_not_told_is_no_success(true_answer: dict[str, Any]) -> None:
    changed = copy.deepcopy(true_answer)
    del changed["meta"]["err"]
    assert read(changed) is None
