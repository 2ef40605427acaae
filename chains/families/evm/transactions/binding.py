"""Find the call that wrote a token transfer's log. The reference and the maker of this call may claim the transfer.

A complete trace shows the call. Without a trace, the call is certain in two cases: it is the transaction itself, or an
account of known code made it. If the call is not certain, the transfer is not bound.

A transfer by the payer's authorization (EIP-3009) needs no call, because any account may have sent it. The token logs
`AuthorizationUsed(payer, nonce)` beside the transfer. That log binds the transfer, and no call does.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from eth_utils.address import to_checksum_address

from chains.client import Transfer
from chains.families.evm.abi import APPROVE, topic
from chains.families.evm.authorizations.typed_data import SELECTORS
from chains.families.evm.calls import TokenCall, token_call
from chains.families.evm.quantities import address, data_bytes
from chains.families.evm.transactions.signed_calls import Execution, Log, Way
from chains.families.evm.transactions.trace import EmittedLog, Trace

AUTHORIZATION_USED: Final = topic("AuthorizationUsed(address,bytes32)")
_ZERO_ADDRESS = "0x" + "00" * 20


@dataclass(frozen=True)
class Claim:
    """A call's claim on a transfer: the call's reference, and the account that made the call ("" if not proved).

    `limit` is the part of the transfer that can be claimed, in base units. `Transfer` explains `is_marked`.
    """

    reference: bytes | None
    made_by: str
    limit: int
    is_marked: bool = False

    def on(self, transfer: Transfer) -> Transfer:
        return replace(
            transfer,
            references=() if self.reference is None else (self.reference,),
            is_marked=self.is_marked,
            made_by=self.made_by,
            claimable=None if self.limit >= transfer.amount else self.limit,
        )


def is_complete(transfers: Mapping[int, Transfer], logs: Sequence[Log], trace: Trace) -> bool:
    """Whether the trace and the receipt have the same logs, in the same order, of each token that moved.

    Some chains add system logs to receipts, so each contract's logs are compared separately.
    """
    if trace.logs is None:
        return not transfers
    return all(
        [(logs[place].topics, logs[place].data) for place in places] == [(t.topics, t.data) for t in twins]
        for places, twins in _by_token(transfers, logs, trace.logs)
    )


def by_trace(transfers: Mapping[int, Transfer], logs: Sequence[Log], trace: Trace) -> dict[int, Claim]:
    """Return the claim of the call behind each log, by the log's index. The trace must be complete.

    A token may also log interest or fees in the same call. So all logs of one call can claim at most the call's amount.
    """
    by_call: dict[int, list[int]] = defaultdict(list)
    for place, emitted in emitted_in(transfers, logs, trace).items():
        by_call[emitted.call].append(place)
    claims: dict[int, Claim] = {}
    for number, places in by_call.items():
        call = trace.calls[number]
        requested = token_call(call.sender, call.to, call.data) if call.kind == "CALL" else None
        if requested is not None:
            theirs = {place: transfers[place] for place in places if _is_of(requested, transfers[place])}
            claims |= _shared_out(requested, theirs)
    return claims


def less_arrival_fees(
    transfers: Mapping[int, Transfer], emitted: Mapping[int, EmittedLog], trace: Trace
) -> dict[int, Transfer]:
    """Return the transfers with the amounts that arrived. `emitted` has each transfer's log in the trace.

    Some tokens log two transfers in one call: the whole amount, and a fee that the recipient pays from it. The payer
    bears this fee, because the recipient never controlled the whole amount.
    """
    found = dict(transfers)
    arrived: dict[int, int] = {}  # call: index of the log that credits the call's recipient
    for place, transfer in sorted(transfers.items()):
        number = emitted[place].call
        call = trace.calls[number]
        requested = token_call(call.sender, call.to, call.data) if call.kind == "CALL" else None
        if requested is None or transfer.token != requested.token:
            continue
        if transfer.recipient == requested.recipient:
            arrived.setdefault(number, place)
        elif transfer.sender == requested.recipient and number in arrived:
            brought = found[arrived[number]]
            found[arrived[number]] = replace(brought, amount=max(brought.amount - transfer.amount, 0))
            found[place] = replace(transfer, sender=brought.sender)
    return found


def emitted_in(transfers: Mapping[int, Transfer], logs: Sequence[Log], trace: Trace) -> dict[int, EmittedLog]:
    """Return each transfer's log in the trace, by the log's index in the receipt. The trace must be complete."""
    return {
        place: twin
        for places, twins in _by_token(transfers, logs, trace.logs or ())
        for place, twin in zip(places, twins, strict=True)
        if place in transfers
    }


def authorized(transfers: Mapping[int, Transfer], logs: Sequence[Log]) -> dict[int, bytes]:
    """Return the nonces of the authorizations that made these transfers, by the indexes of the transfers' logs.

    An `AuthorizationUsed` log belongs to the payer's transfer directly after it, as in USDC. If the payer made no
    transfer there, the log belongs to the payer's transfer directly before it.
    """
    nonces: dict[int, bytes] = {}
    for place, log in enumerate(logs):
        if len(log.topics) != 3 or log.topics[0] != AUTHORIZATION_USED or log.topics[1][:12] != bytes(12):
            continue
        maker = log.address, to_checksum_address(log.topics[1][12:])
        for beside in (place + 1, place - 1):
            transfer = transfers.get(beside)
            if transfer is not None and (transfer.token, transfer.sender) == maker and beside not in nonces:
                nonces[beside] = log.topics[2]
                break
    return nonces


def is_direct_authorization(
    transaction: Mapping[str, Any], transfers: Mapping[int, Transfer], logs: Sequence[Log]
) -> bool:
    """Whether the transaction only calls a token to make one transfer by authorization."""
    if transaction.get("to") is None or data_bytes(transaction.get("input"))[:4] not in SELECTORS:
        return False
    token = address(transaction.get("to"))
    return (
        len(transfers) == 1
        and authorized(transfers, logs).keys() == transfers.keys()
        and all(log.address == token for log in logs)
    )


def by_own_call(
    sender: str, to: str | None, data: bytes, transfers: Mapping[int, Transfer]
) -> dict[int, Claim]:
    """If the transaction calls a token directly, return the call's claim on its transfer, by the log's index.

    If the token logged several transfers between the payer and the recipient, return nothing, because the call may have
    caused any of them. Also return nothing if the recipient sent tokens away, because the amount that it kept is
    uncertain.
    """
    requested = token_call(sender, to, data) if to is not None else None
    if requested is None or any(
        (transfer.token, transfer.sender) == (to, requested.recipient) != (to, transfer.recipient)
        for transfer in transfers.values()
    ):
        return {}
    own = {place: transfer for place, transfer in transfers.items() if _is_of(requested, transfer)}
    return _shared_out(requested, own) if len(own) == 1 else {}


def by_execution(execution: Execution, sender: str, transfers: Mapping[int, Transfer]) -> dict[int, Claim]:
    """Return the claims of the calls that one account executed. The account's code must make exactly these calls. All
    calls must go to one token, as `transfer`, `transferFrom` or `approve`. The token's logs within the execution must
    match the transfers one for one and in order. Then only the account's and the token's code ran. So if a transfer
    returned false, no swap, pool, paymaster or module can have written a log that looks like the transfer's.

    The maker is proved only if the account signed the transaction itself.
    """
    if len({call.to for call in execution.calls}) != 1 or any(call.value for call in execution.calls):
        return {}
    token = execution.calls[0].to
    moving = [call for call in execution.calls if bytes(call.data[:4]) != APPROVE]
    requested = [token_call(execution.account, token, bytes(call.data[:256])) for call in moving]
    places = [
        place
        for place, transfer in sorted(transfers.items())
        if transfer.token == token and execution.first <= place < execution.end
    ]
    logged = [(t.sender, t.recipient, t.amount) for t in map(transfers.__getitem__, places)]
    if not requested or logged != [call and (call.sender, call.recipient, call.amount) for call in requested]:
        return {}
    is_signer = execution.way == Way.BATCH and execution.account == sender
    return {
        place: Claim(
            call.reference,
            call.sender if call.is_own and is_signer else "",
            call.amount,
            is_marked=call.is_marked,
        )
        for place, call in zip(places, requested, strict=True)
        if call is not None and _is_of(call, transfers[place])
    }


def by_executions(
    executions: Iterable[Execution], known: Collection[str], sender: str, transfers: Mapping[int, Transfer]
) -> dict[int, Claim]:

    claims: dict[int, Claim] = {}
    for execution in executions:
        if execution.account in known:
            claims |= by_execution(execution, sender, transfers)
    return claims


def _is_of(requested: TokenCall, transfer: Transfer) -> bool:
    """Whether the call can have made this transfer. A mint never matches, because it has no sender."""
    parties = (transfer.token, transfer.sender, transfer.recipient)
    return (
        parties == (requested.token, requested.sender, requested.recipient)
        and transfer.sender != _ZERO_ADDRESS
    )


def _shared_out(requested: TokenCall, transfers: Mapping[int, Transfer]) -> dict[int, Claim]:
    """Return the claims on the logs of one call, in order. Together they claim at most the call's amount."""
    made_by = requested.sender if requested.is_own else ""
    claims: dict[int, Claim] = {}
    left = requested.amount
    for place, transfer in sorted(transfers.items()):
        limit = min(left, transfer.amount)
        left -= limit
        if limit or not transfer.amount:
            claims[place] = Claim(requested.reference, made_by, limit, is_marked=requested.is_marked)
    return claims


def _by_token(
    transfers: Mapping[int, Transfer], logs: Sequence[Log], emitted: Sequence[EmittedLog]
) -> list[tuple[list[int], list[EmittedLog]]]:
    """For each token, return the indexes of its logs in the receipt, and its logs in the trace."""
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
