"""Whether what arrived may be the recipient's own money, or the price of something that it gave away. Pure.

A recipient with code can lend, exchange and pass on what it has, all within one transaction, at anyone's word. Who may
claim a transfer is decided elsewhere; here is decided whether the recipient can have gained by it. What can't be
decided is left to the merchant.
"""

from collections.abc import Collection, Iterator, Sequence

from chains.clients.base import Transfer

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


def lent_or_returned(
    transfers: Sequence[Transfer],
    credited: Sequence[Transfer],
    token: str,
    recipient: str,
    payers: Collection[str],
) -> str | None:
    """Return why the `credited` transfers may bring the recipient nothing, given all of the transaction in order.

    What came back to the `payers` themselves was deducted before. On Solana the account's own gain is the limit.
    """
    moved = [
        t for t in transfers if t.token == token and t.gain is None and t.amount and t.sender != t.recipient
    ]
    if not any(t.sender == recipient and t.recipient not in payers for t in moved):
        return None
    if _was_lent(moved, {t.slot for t in credited}, recipient, payers):
        return LENT
    return RETURNED if _went_back(moved, credited, recipient, payers) else None


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


def _was_lent(
    moved: Sequence[Transfer], credited: Collection[str], recipient: str, payers: Collection[str]
) -> bool:
    """Whether the recipient sent money to others than the payers before one of the `credited` slots brought some.

    Coin that it sent on within the very call that had brought it is passed on, not lent, once that call is over.
    """
    brought: dict[str, int] = {}  # by the call, what is left of it
    passing: set[str] = set()
    has_lent = False
    for transfer in moved:
        if transfer.recipient == recipient:
            if transfer.slot in credited and (has_lent or not passing.isdisjoint(_around(transfer))):
                return True
            brought[_call(transfer)] = transfer.amount
        elif transfer.sender == recipient and transfer.recipient not in payers:
            call = next((c for c in _around(transfer) if brought.get(c, 0) >= transfer.amount), None)
            if call is None:
                has_lent = True
            else:
                brought[call] -= transfer.amount
                passing.add(call)
    return False


def _went_back(
    moved: Sequence[Transfer], credited: Sequence[Transfer], recipient: str, payers: Collection[str]
) -> bool:
    """Whether what the recipient passed on reached a payer by other accounts, or one that the payer's money came from.

    Money that is minted for one transaction comes from the zero address, and is burned there again.
    """
    reached: set[str] = set()
    for transfer in moved:
        is_passed_on = transfer.sender == recipient and transfer.recipient not in payers
        if is_passed_on or transfer.sender in reached:
            reached.add(transfer.recipient)
    sources = {transfer.sender for transfer in credited}
    for transfer in reversed(moved):
        if transfer.recipient in sources and transfer.sender != recipient:
            sources.add(transfer.sender)
    return not sources.isdisjoint(reached - {recipient})


def _call(transfer: Transfer) -> str:
    """Return the path of the call that moved native coin; the transaction's own value moved with the first."""
    return "0" if transfer.slot == "value" else transfer.slot


def _around(transfer: Transfer) -> Iterator[str]:
    """Yield the paths of the calls around the one that moved native coin, from the inside out. A log has none."""
    path = transfer.slot
    while "." in path:
        path = path.rpartition(".")[0]
        yield path
