"""Detect transfers that may be the recipient's own money, or the price of something that it sold. Pure functions.

A recipient that is a contract can lend, exchange and forward its funds within one transaction, which anyone can
send. Without this check, a thief could pay with the merchant's own money. `binding` decides to which request a
transfer belongs. This module decides whether the transfer made the recipient richer. If that is unclear, the merchant
decides.

docs/threat-model.md#threat-24 and docs/threat-model.md#threat-48 to #threat-50 list the tests.
"""

from collections.abc import Collection, Iterator, Sequence, Set

from chains.client import Transfer

ACCEPTABLE = " The merchant can accept the payment."
LENT = (
    "The recipient sent money out in the same transaction before this arrived, so it may be the recipient's own money."
    + ACCEPTABLE
)
RETURNED = (
    "The recipient forwarded money in the same transaction, and it may have returned to the payer."
    + ACCEPTABLE
)
EXCHANGED = (
    "The recipient sent another token in the same transaction, so this may be the price of an exchange."
    + ACCEPTABLE
)


def lent_before(
    transfers: Sequence[Transfer],
    arrived: Sequence[Transfer],
    token: str,
    recipient: str,
    payers: Collection[str],
) -> Set[str]:
    """Return the slots of arrived transfers that may return money which the recipient sent out before.

    `transfers` are all transfers of the transaction in order. `arrived` are the transfers to the recipient, minus the
    amounts that went back to the `payers`.

    Example: the recipient sends 5 to an account that is not a payer. Then the next 5 that arrive count as its own
    money. If the recipient forwards native coin within a call, it counts as lent only until that call ends. Transfers
    on Solana are skipped, because the account's gain limits them.
    """
    kept = {transfer.slot: transfer.amount for transfer in arrived}
    brought: dict[str, int] = {}  # for each call, the amount that arrived in it and was not sent on
    passing: set[str] = set()
    lent: set[str] = set()
    owed = 0
    for transfer in _movements(token, transfers):
        if transfer.recipient == recipient:
            is_lent = owed > 0 or not passing.isdisjoint(_enclosing_calls(transfer))
            if is_lent and transfer.slot in kept:
                lent.add(transfer.slot)
                owed = max(owed - kept[transfer.slot], 0)
            brought[_call_path(transfer)] = transfer.amount
        elif transfer.sender == recipient and transfer.recipient not in payers:
            call = next((c for c in _enclosing_calls(transfer) if brought.get(c, 0) >= transfer.amount), None)
            if call is None:
                owed += transfer.amount
            else:
                brought[call] -= transfer.amount
                passing.add(call)
    return lent


def went_back(
    transfers: Sequence[Transfer],
    credited: Sequence[Transfer],
    token: str,
    recipient: str,
    payers: Collection[str],
) -> bool:
    """Whether money that the recipient forwarded reached a payer, or an account that funded a payer.

    The zero address is treated like any other account, since one transaction may burn tokens and mint them
    again.
    """
    moved = _movements(token, transfers)
    reached: set[str] = set()
    for transfer in moved:
        is_passed_on = transfer.sender == recipient and transfer.recipient not in payers
        if is_passed_on or transfer.sender in reached:
            reached.add(transfer.recipient)
    if not reached:
        return False
    sources = {transfer.sender for transfer in credited}
    for transfer in reversed(moved):
        if transfer.recipient in sources and transfer.sender != recipient:
            sources.add(transfer.sender)
    return not sources.isdisjoint(reached - {recipient})


def was_exchanged(
    transfers: Sequence[Transfer], token: str, recipient: str, known_tokens: Collection[str], signer: str
) -> bool:
    """Whether the recipient sent another token in the same transaction.

    Anyone can deploy a token that logs false transfers. So only native coin and tokens of the catalogue count,
    except in a transaction that the recipient signed.
    """
    return any(
        t.sender == recipient != t.recipient
        and t.token != token
        and t.amount > 0
        and t.gain is None
        and (t.token == "" or t.token in known_tokens or signer == recipient)
        for t in transfers
    )


def _movements(token: str, transfers: Sequence[Transfer]) -> list[Transfer]:
    return [
        t for t in transfers if t.token == token and t.gain is None and t.amount and t.sender != t.recipient
    ]


def _call_path(transfer: Transfer) -> str:
    """Return the path of the call that moved native coin. The path `0` is the transaction's own value."""
    return "0" if transfer.slot == "value" else transfer.slot


def _enclosing_calls(transfer: Transfer) -> Iterator[str]:
    """Yield the paths of the calls around this transfer, innermost first. A token's transfer, which is a log, has
    none.
    """
    path = transfer.slot
    while "." in path:
        path = path.rpartition(".")[0]
        yield path
