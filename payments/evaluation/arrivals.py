"""Select the transfers that arrived at a request's own addresses. Pure functions.

A request's own addresses are its recipient and its deposit address, if that was shown. A transfer counts when it
arrives at the deposit address. The transfer doesn't count again when it is swept to the recipient.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from chains.client import TransactionFacts, Transfer


def arrived_transfers(
    transfers: Sequence[Transfer],
    token: str,
    own: Collection[str],
    forwarders: Collection[str],
    signer: str,
) -> list[Transfer]:
    """Return the transfers to the request's `own` addresses. Deduct what the same transaction returned to the
    payers.

    `forwarders` are those deposit addresses, of any request, that sent something in this transaction.

    On Solana, credits can't exceed the account's gain, but that alone is not enough. A payer who got the money back
    could still be credited with another payer's delivery in the same transaction.
    """
    moved = [t for t in transfers if t.token == token and t.amount > 0 and t.sender != t.recipient]
    arrived = [t for t in moved if t.recipient in own and t.sender not in own and t.sender not in forwarders]
    returned: Counter[str] = Counter()
    for back in moved:
        if back.sender in own and back.recipient not in own:
            returned[back.recipient] += back.amount
    return _deduct_returned(arrived, returned, signer) if returned else arrived


def coins_to(address: str, facts: TransactionFacts) -> tuple[Transfer, ...]:
    """Return the transfers of native coin to this deposit address. For an unmined transaction, return the
    intended transfers.
    """
    is_mined = facts.block is not None
    moved = facts.transfers if is_mined else facts.intended
    is_usable = address != "" and facts.is_readable and (facts.succeeded or not is_mined)
    return tuple(t for t in moved if is_usable and t.token == "" and t.recipient == address and t.amount > 0)


def as_one_account(transfers: Sequence[Transfer], recipient: str, deposit_address: str) -> Sequence[Transfer]:
    """Return the transfers with each deposit address replaced by the recipient."""
    if not deposit_address:
        return transfers

    def account(address: str) -> str:
        return recipient if address == deposit_address else address

    return [replace(t, sender=account(t.sender), recipient=account(t.recipient)) for t in transfers]


def came_out_of(
    forwarders: Collection[str], transfers: Sequence[Transfer], token: str, recipient: str
) -> bool:
    """Whether one of these deposit addresses sent some of the token to the recipient."""
    return any(
        t.sender in forwarders and t.recipient == recipient and t.token == token and t.amount > 0
        for t in transfers
    )


def _deduct_returned(arrived: Sequence[Transfer], returned: Mapping[str, int], signer: str) -> list[Transfer]:
    """Deduct the returned amounts from `arrived`.

    Deduct first from transfers that the payer made, and among these first from transfers with references. Then deduct
    from transfers that the payer only paid for or signed. The cost must not be quadratic, since the sender of a
    transaction chooses how many transfers it has.
    """
    by_payer: dict[str, list[Transfer]] = defaultdict(list)
    for transfer in arrived:
        for payer in {transfer.sender, transfer.made_by} & returned.keys():
            by_payer[payer].append(transfer)
    left = {id(t): t.amount for t in arrived}
    for payer, amount in returned.items():
        own = {id(t) for t in by_payer[payer]}
        deductible = arrived if payer == signer else by_payer[payer]
        for transfer in sorted(
            deductible, key=lambda t: (t.made_by != payer, not t.references, id(t) not in own)
        ):
            taken = min(amount, left[id(transfer)])
            left[id(transfer)] -= taken
            amount -= taken
    return [replace(t, amount=left[id(t)]) for t in arrived if left[id(t)] > 0]
