"""Whether what arrived may be the recipient's own money, or the price of something that it gave away. Pure.

A recipient with code can lend, exchange and pass on what it has, all within one transaction, at anyone's word. Who may
claim a transfer is decided elsewhere; here is decided whether the recipient can have gained by it. What can't be
decided is left to the merchant.
"""

from collections.abc import Collection, Iterator, Sequence, Set

from chains.client import Transfer

LENT = (
    "The recipient sent money out in the same transaction before this arrived, so it may be its own. The merchant can "
    "accept the payment."
)
RETURNED = (
    "The recipient passed money on in the same transaction, and it may have gone back to where it came from. The "
    "merchant can accept the payment."
)
EXCHANGED = (
    "The recipient gave something else away in the same transaction, so this may be what it got for it. The merchant "
    "can accept the payment."
)


def lent_before(
    transfers: Sequence[Transfer],
    arrived: Sequence[Transfer],
    token: str,
    recipient: str,
    payers: Collection[str],
) -> Set[str]:
    """Return the slots of what arrived that may be money that the recipient had sent to others than the `payers`.

    `transfers` are all of the transaction in order, `arrived` those that reached the recipient, less what went back to
    the payers themselves. What arrives may be the recipient's own until as much has come back as was sent. Coin that it
    sent on within the very call that had brought it is passed on, not lent, once that call is over. On Solana the
    account's own gain is the limit.
    """
    kept = {transfer.slot: transfer.amount for transfer in arrived}
    brought: dict[str, int] = {}  # by the call, what is left of it
    passing: set[str] = set()
    lent: set[str] = set()
    owed = 0
    for transfer in _moves_of(token, transfers):
        if transfer.recipient == recipient:
            is_lent = owed > 0 or not passing.isdisjoint(_around(transfer))
            if is_lent and transfer.slot in kept:
                lent.add(transfer.slot)
                owed = max(owed - kept[transfer.slot], 0)
            brought[_call(transfer)] = transfer.amount
        elif transfer.sender == recipient and transfer.recipient not in payers:
            call = next((c for c in _around(transfer) if brought.get(c, 0) >= transfer.amount), None)
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
    """Whether what the recipient passed on reached a payer by other accounts, or one that the payer's money came from.

    Money that is minted for one transaction comes from the zero address, and is burned there again.
    """
    moved = _moves_of(token, transfers)
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
    """Whether the recipient gave away anything but this token in the same transaction.

    Anyone can have a token of their own say so: outside of a transaction that the recipient itself signed, only tokens
    of the catalogue and native coin are believed.
    """
    return any(
        t.sender == recipient != t.recipient
        and t.token != token
        and t.amount > 0
        and t.gain is None
        and (t.token == "" or t.token in known_tokens or signer == recipient)
        for t in transfers
    )


def _moves_of(token: str, transfers: Sequence[Transfer]) -> list[Transfer]:
    return [
        t for t in transfers if t.token == token and t.gain is None and t.amount and t.sender != t.recipient
    ]


def _call(transfer: Transfer) -> str:
    """Return the path of the call that moved native coin; the transaction's own value moved with the first."""
    return "0" if transfer.slot == "value" else transfer.slot


def _around(transfer: Transfer) -> Iterator[str]:
    """Yield the paths of the calls around the one that moved native coin, from the inside out. A log has none."""
    path = transfer.slot
    while "." in path:
        path = path.rpartition(".")[0]
        yield path
