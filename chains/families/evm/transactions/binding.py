"""Who may claim a transfer of a token: the reference and the maker of the very call that wrote the transfer's log.

A complete trace shows which call that was. Without one it is certain in two cases: the transaction itself is the call,
or an account of known code made it. What is not certain is not bound.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from chains.client import Transfer
from chains.families.evm.abi import APPROVE
from chains.families.evm.calls import TokenCall, token_call
from chains.families.evm.transactions.signed_calls import Execution, Log, Way
from chains.families.evm.transactions.trace import EmittedLog, Trace

_ZERO_ADDRESS = "0x" + "00" * 20


@dataclass(frozen=True)
class Claim:
    """What a call says about a transfer's log: its reference, and the account that made it ("" if not proved).

    `most` is how much of the transfer can be claimed by either, in base units.
    """

    reference: bytes | None
    made_by: str
    most: int

    def on(self, transfer: Transfer) -> Transfer:
        """Return the transfer with this claim."""
        return replace(
            transfer,
            references=() if self.reference is None else (self.reference,),
            made_by=self.made_by,
            claimable=None if self.most >= transfer.amount else self.most,
        )


def is_complete(transfers: Mapping[int, Transfer], logs: Sequence[Log], trace: Trace) -> bool:
    """Whether the trace shows all logs of each token that moved, in order, just as the receipt does.

    Some chains put logs of their own into receipts, so each contract's logs are compared by themselves.
    """
    if trace.logs is None:
        return not transfers
    return all(
        [(logs[place].topics, logs[place].data) for place in places] == [(t.topics, t.data) for t in twins]
        for places, twins in _by_token(transfers, logs, trace.logs)
    )


def by_trace(transfers: Mapping[int, Transfer], logs: Sequence[Log], trace: Trace) -> dict[int, Claim]:
    """Return the claims on these logs, by their places: those of the calls in which the token wrote them.

    All logs of one call together can be claimed at most up to what the call names: a token may log interest or fees
    in the same call. The trace has to be complete.
    """
    by_call: dict[int, list[int]] = defaultdict(list)
    for place, emitted in emitted_in(transfers, logs, trace).items():
        by_call[emitted.call].append(place)
    claims: dict[int, Claim] = {}
    for number, places in by_call.items():
        call = trace.calls[number]
        asked = token_call(call.sender, call.to, call.data) if call.kind == "CALL" else None
        if asked is not None:
            theirs = {place: transfers[place] for place in places if _is_of(asked, transfers[place])}
            claims |= _shared_out(asked, theirs)
    return claims


def less_arrival_fees(
    transfers: Mapping[int, Transfer], emitted: Mapping[int, EmittedLog], trace: Trace
) -> dict[int, Transfer]:
    """Return the transfers with what the payer's transfer left at its recipient, given the trace's twins of the logs.

    Some tokens log the whole transfer and then, in the same call, a fee that the recipient pays out of it. That is a
    fee of the payer's: it never was the recipient's to send.
    """
    found = dict(transfers)
    arrived: dict[int, int] = {}  # by the call, the place of the log that brought the recipient its tokens
    for place, transfer in sorted(transfers.items()):
        number = emitted[place].call
        call = trace.calls[number]
        asked = token_call(call.sender, call.to, call.data) if call.kind == "CALL" else None
        if asked is None or transfer.token != asked.token:
            continue
        if transfer.recipient == asked.recipient:
            arrived.setdefault(number, place)
        elif transfer.sender == asked.recipient and number in arrived:
            brought = found[arrived[number]]
            found[arrived[number]] = replace(brought, amount=max(brought.amount - transfer.amount, 0))
            found[place] = replace(transfer, sender=brought.sender)
    return found


def emitted_in(transfers: Mapping[int, Transfer], logs: Sequence[Log], trace: Trace) -> dict[int, EmittedLog]:
    """Return the twin in the trace of each transfer's log, by the log's place. The trace has to be complete."""
    return {
        place: twin
        for places, twins in _by_token(transfers, logs, trace.logs or ())
        for place, twin in zip(places, twins, strict=True)
        if place in transfers
    }


def by_own_call(
    sender: str, to: str | None, data: bytes, transfers: Mapping[int, Transfer]
) -> dict[int, Claim]:
    """Return the claim of a transaction that is itself the call of a token, on the one log that is its own.

    If the token logged several transfers between these two accounts, which one is the call's is not certain. Nor is
    what the recipient kept, if it sent any away.
    """
    asked = token_call(sender, to, data) if to is not None else None
    if asked is None or any(
        (transfer.token, transfer.sender) == (to, asked.recipient) != (to, transfer.recipient)
        for transfer in transfers.values()
    ):
        return {}
    own = {place: transfer for place, transfer in transfers.items() if _is_of(asked, transfer)}
    return _shared_out(asked, own) if len(own) == 1 else {}


def by_execution(execution: Execution, sender: str, transfers: Mapping[int, Transfer]) -> dict[int, Claim]:
    """Return the claims of what one account executed, if its code is known to make just these calls.

    All calls have to go to one token, as `transfer`, `transferFrom` or `approve`, and the token's logs within the
    execution have to be those transfers, one for one and in order. Then no code ran but the account's and the token's,
    so no other movement can have supplied a log in the place of a transfer that returned false: no swap or pool that
    the batch called, no paymaster, no module.

    The maker is proved only where the account signed the transaction itself.
    """
    if len({call.to for call in execution.calls}) != 1 or any(call.value for call in execution.calls):
        return {}
    token = execution.calls[0].to
    moving = [call for call in execution.calls if bytes(call.data[:4]) != APPROVE]
    asked = [token_call(execution.account, token, bytes(call.data[:256])) for call in moving]
    places = [
        place
        for place, transfer in sorted(transfers.items())
        if transfer.token == token and execution.first <= place < execution.end
    ]
    logged = [(t.sender, t.recipient, t.amount) for t in map(transfers.__getitem__, places)]
    if not asked or logged != [call and (call.sender, call.recipient, call.amount) for call in asked]:
        return {}
    is_signer = execution.way == Way.BATCH and execution.account == sender
    return {
        place: Claim(call.reference, call.sender if call.is_own and is_signer else "", call.amount)
        for place, call in zip(places, asked, strict=True)
        if call is not None and _is_of(call, transfers[place])
    }


def by_executions(
    executions: Iterable[Execution], known: Collection[str], sender: str, transfers: Mapping[int, Transfer]
) -> dict[int, Claim]:
    """Return the claims of what accounts executed whose code is `known`."""
    claims: dict[int, Claim] = {}
    for execution in executions:
        if execution.account in known:
            claims |= by_execution(execution, sender, transfers)
    return claims


def _is_of(asked: TokenCall, transfer: Transfer) -> bool:
    """Whether the call can have made this transfer. A mint is made by none."""
    parties = (transfer.token, transfer.sender, transfer.recipient)
    return parties == (asked.token, asked.sender, asked.recipient) and transfer.sender != _ZERO_ADDRESS


def _shared_out(asked: TokenCall, transfers: Mapping[int, Transfer]) -> dict[int, Claim]:
    """Return the claims on the logs of one call, in order: together at most what the call names."""
    made_by = asked.sender if asked.is_own else ""
    claims: dict[int, Claim] = {}
    left = asked.amount
    for place, transfer in sorted(transfers.items()):
        most = min(left, transfer.amount)
        left -= most
        if most or not transfer.amount:
            claims[place] = Claim(asked.reference, made_by, most)
    return claims


def _by_token(
    transfers: Mapping[int, Transfer], logs: Sequence[Log], emitted: Sequence[EmittedLog]
) -> list[tuple[list[int], list[EmittedLog]]]:
    """Return the places of each token's logs in the receipt, with that token's logs in the trace."""
    tokens = {transfer.token for transfer in transfers.values()}
    places: dict[str, list[int]] = {token: [] for token in tokens}
    twins: dict[str, list[EmittedLog]] = {token: [] for token in tokens}
    for place, log in enumerate(logs):
        if log.address in tokens:
            places[log.address].append(place)
    for twin in emitted:
        if twin.address in tokens:
            twins[twin.address].append(twin)
    return [(places[token], twins[token]) for token in sorted(tokens)]
