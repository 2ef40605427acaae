"""Read the transfers of an EVM transaction, and who may claim them, from a node's results.

For a token, only the contract's `Transfer` log counts, because a contract may move less than the call data requests.
The call data only shows who may claim the transfer. Native coin leaves no log. The transaction itself shows its own
value; only a trace shows the native coin in inner calls.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from eth_utils.address import to_checksum_address

from chains.client import ChainError, Transfer
from chains.families.evm.abi import TRANSFER_TOPIC, WORD
from chains.families.evm.calls import is_marked, reference_at, token_call
from chains.families.evm.quantities import address, data_bytes, hash32, quantity
from chains.families.evm.transactions import binding
from chains.families.evm.transactions.binding import Claim
from chains.families.evm.transactions.evidence import NO_EVIDENCE, Evidence, Unproven
from chains.families.evm.transactions.mentions import Mentions
from chains.families.evm.transactions.signed_calls import Execution, Log, Way, executions, is_bundle
from chains.families.evm.transactions.trace import Trace

_NO_MENTIONS = Mentions()
# Under EIP-7708, this address logs native coin as if it were a token. We count native coin by its value instead.
SYSTEM_ADDRESS = "0xffffFFFfFFffffffffffffffFfFFFfffFFFfFFfE"
# Ethereum's transaction types (EIP-2718), and Celo's type with a fee in tokens. The sender signs such a transaction,
# which makes only the call that it contains. Transactions of other types may run any code of the sender.
_ORDINARY_TYPES = frozenset({0, 1, 2, 3, 4, 0x7B})
_PLAIN_GAS = 21_000
# A call that moves value costs more gas than this (EIP-2929: 2,600 and 9,000, less a stipend of 2,300).
_IDLE_GAS = 5_000


def transfers(
    transaction: dict[str, Any],
    receipt: dict[str, Any],
    trace: Trace | None = None,
    *,
    is_trace_unreadable: bool = False,
    evidence: Evidence = NO_EVIDENCE,
    mentions: Mentions = _NO_MENTIONS,
) -> tuple[Transfer, ...]:
    """Return every transfer that a successful transaction's receipt, value and trace prove.

    `trace` is complete, or None. With `is_trace_unreadable`, a trace exists but can't be read. The call data then does
    not replace the trace, and no token transfer can be claimed. A log's slot is its index in the receipt. The log's
    index in the block could change with a reorganisation, and the transfer would count twice.
    """
    logs = logs_of(receipt)
    tokens = token_transfers(logs)
    nonces = binding.authorized(tokens, logs)
    claims: dict[int, Claim] = {}
    if trace is not None:
        claims = binding.by_trace(tokens, logs, trace)
        emitted = binding.emitted_in(tokens, logs, trace)
        tokens = binding.less_arrival_fees(tokens, emitted, trace)
        within = {place: mentions.around(trace, twin.call) for place, twin in emitted.items()}
    elif is_trace_unreadable:
        within = {}
    else:
        claims = _untraced_claims(transaction, logs, tokens, evidence)
        within = {place: mentions.of_own_call(transfer.sender) for place, transfer in tokens.items()}
    claimed = {
        place: replace(t, authorization=nonces[place])
        if place in nonces
        else (claims[place].on(t) if place in claims else t)
        for place, t in tokens.items()
    }
    moved = (
        *(replace(transfer, within=within.get(place, ())) for place, transfer in claimed.items()),
        *_own_value(transaction, receipt, trace, evidence),
        *(_inner_values(trace, mentions) if trace else ()),
    )
    if trace is None or trace.is_whole:
        return moved
    # A call's input may have been cut, so the transfers within the call may belong to another swap.
    return tuple(replace(transfer, made_by="") if transfer.within else transfer for transfer in moved)


def token_transfers(logs: Sequence[Log]) -> dict[int, Transfer]:
    """Return the ERC-20 transfers that these logs record, by the logs' indexes."""
    return {
        place: transfer for place, log in enumerate(logs) if (transfer := _token_transfer(log, str(place)))
    }


def needs_trace(transaction: dict[str, Any], receipt: dict[str, Any]) -> bool:
    """Whether a successful transaction may have moved money in calls that only a trace shows.

    A transaction that ran no code made no such calls. A plain token transfer, by the caller or by authorization, has no
    hidden transfers, because its logs show everything. Malformed receipts need no trace, because they fail later.
    """
    try:
        is_plain = _ran_no_code(transaction, receipt) or _is_direct(transaction, receipt)
        return not (is_plain and _is_ordinary(transaction))
    except ChainError:
        return False


def executed_by_known(
    transaction: dict[str, Any], receipt: dict[str, Any], evidence: Evidence
) -> tuple[Execution, ...]:
    """Return the calls that accounts of known code made. Raises ChainError for a malformed result."""
    if not evidence.known:
        return ()
    signed = _executions(transaction, logs_of(receipt))
    return tuple(execution for execution in signed if execution.account in evidence.known)


def unproven(
    transaction: dict[str, Any],
    receipt: dict[str, Any],
    *,
    is_trace_unreadable: bool,
    watched: Collection[str] = (),
) -> Unproven | None:
    """If a transaction has no trace, return which account state to query; None if no state would prove anything.

    Raises ChainError for a malformed result.
    """
    to, value = transaction.get("to"), quantity(transaction.get("value"))
    if not _is_ordinary(transaction):
        return None
    logs = logs_of(receipt)
    signed = () if is_trace_unreadable else _claiming(transaction, logs, token_transfers(logs), watched)
    recipient = address(to) if value and to is not None and not _ran_no_code(transaction, receipt) else ""
    if not signed and not recipient:
        return None
    return Unproven(
        hash32(transaction.get("hash")),
        address(transaction.get("from")),
        quantity(receipt.get("blockNumber")),
        hash32(receipt.get("blockHash")),
        signed,
        recipient,
    )


def is_complete_without_trace(
    transaction: dict[str, Any], receipt: dict[str, Any], evidence: Evidence
) -> bool:
    """Whether all transfers of a transaction that may have run code are visible without a trace.

    All transfers are visible if the recipient has no code. All transfers are also visible if an account of known code
    executed only transfers of one token, each with a reference. In a bundle, some transfers are not visible, because an
    inner call pays the bundle's beneficiary.
    """
    if not _is_ordinary(transaction):
        return False
    logs = logs_of(receipt)
    tokens = token_transfers(logs)
    if evidence.has_code is False:
        return not tokens
    sender, signed = address(transaction.get("from")), _executions(transaction, logs)
    claims = binding.by_executions(signed, evidence.known, sender, tokens)
    return (
        bool(claims)
        and claims.keys() == tokens.keys()
        and all(claim.reference is not None for claim in claims.values())
        and all(execution.way != Way.OPERATION for execution in signed)
        and not quantity(transaction.get("value"))
    )


def _untraced_claims(
    transaction: dict[str, Any], logs: list[Log], tokens: dict[int, Transfer], evidence: Evidence
) -> dict[int, Claim]:
    """Return the claims of the accounts whose code is known. If there are none, return the claim of the
    transaction's own call.
    """
    if not tokens:
        return {}
    sender, to = address(transaction.get("from")), transaction.get("to")
    claims = binding.by_executions(_executions(transaction, logs), evidence.known, sender, tokens)
    if not claims and not is_bundle(logs) and _is_ordinary(transaction):
        data = data_bytes(transaction.get("input"))
        claims = binding.by_own_call(sender, address(to) if to else None, data, tokens)
    return claims


def _executions(transaction: dict[str, Any], logs: list[Log]) -> tuple[Execution, ...]:
    sender, to = address(transaction.get("from")), transaction.get("to")
    return executions(sender, address(to) if to else None, data_bytes(transaction.get("input")), logs)


def _claiming(
    transaction: dict[str, Any], logs: list[Log], tokens: dict[int, Transfer], watched: Collection[str]
) -> tuple[Execution, ...]:
    """Return the executions that would prove something if the account's code were known: a transfer's reference or
    sender, or a call to a watched contract. The code is queried only for these accounts.
    """
    sender = address(transaction.get("from"))
    return tuple(
        execution
        for execution in _executions(transaction, logs)
        if any(call.to in watched for call in execution.calls)
        or any(
            claim.reference is not None or claim.made_by
            for claim in binding.by_execution(execution, sender, tokens).values()
        )
    )


def _is_direct(transaction: dict[str, Any], receipt: dict[str, Any]) -> bool:
    """Whether the transaction is one transfer of a token, and its logs show only transfers from the payer.

    If other tokens moved too, a hook or the token's code made calls that only a trace can show.
    """
    to = transaction.get("to")
    if to is None or quantity(transaction.get("value")):
        return False
    sender, data = address(transaction.get("from")), data_bytes(transaction.get("input"))
    call = token_call(sender, address(to), data)
    logs = logs_of(receipt)
    if is_bundle(logs):
        return False
    if call is None:
        return binding.is_direct_authorization(transaction, token_transfers(logs), logs)
    moved = [transfer for log in logs if (transfer := _token_transfer(log, ""))]
    reached = [transfer for transfer in moved if transfer.recipient == call.recipient]
    return (
        all((transfer.token, transfer.sender) == (call.token, call.sender) for transfer in moved)
        and [transfer.sender for transfer in reached] == [call.sender]
        and reached[0].amount <= call.amount
    )


def _is_ordinary(transaction: dict[str, Any]) -> bool:
    kind = transaction.get("type")
    return kind is None or quantity(kind) in _ORDINARY_TYPES


def _ran_no_code(transaction: dict[str, Any], receipt: dict[str, Any]) -> bool:
    """Whether the transaction used only its base gas (EIP-2028, EIP-7623). Then no code ran."""
    if transaction.get("to") is None or not isinstance(receipt.get("gasUsed"), str):
        return False
    data, used = data_bytes(transaction.get("input")), quantity(receipt.get("gasUsed"))
    zeros = data.count(0)
    others = len(data) - zeros
    cost, floor = _PLAIN_GAS + 4 * zeros + 16 * others, _PLAIN_GAS + 10 * zeros + 40 * others
    return used == cost or (used == floor and floor - cost < _IDLE_GAS)


def logs_of(receipt: dict[str, Any]) -> list[Log]:
    """Return the logs of a receipt in order. Raises ChainError."""
    logs = receipt.get("logs")
    if not isinstance(logs, list) or not all(isinstance(log, dict | Log) for log in logs):
        raise ChainError("the node's receipt has no logs")
    return [log if isinstance(log, Log) else read_log(log) for log in logs]


def read_log(log: dict[str, Any]) -> Log:
    topics = log.get("topics")
    if not isinstance(topics, list):
        raise ChainError("the node's log is malformed")
    return Log(
        address(log.get("address")), tuple(data_bytes(topic) for topic in topics), data_bytes(log.get("data"))
    )


def _token_transfer(log: Log, slot: str) -> Transfer | None:
    """Return the ERC-20 transfer that `log` records.

    An ERC-20 transfer's log has exactly three topics and one word of data. Other logs are ignored, because any contract
    can log anything.
    """
    if len(log.topics) != 3 or log.topics[0] != TRANSFER_TOPIC or len(log.data) != WORD:
        return None
    if any(len(topic) != WORD or topic[:12] != bytes(12) for topic in log.topics[1:]):
        return None
    if log.address == SYSTEM_ADDRESS:
        return None
    sender, recipient = (to_checksum_address(topic[12:]) for topic in log.topics[1:])
    return Transfer(slot, log.address, sender, recipient, int.from_bytes(log.data))


def _own_value(
    transaction: dict[str, Any], receipt: dict[str, Any], trace: Trace | None, evidence: Evidence
) -> tuple[Transfer, ...]:
    """Return the transfer of the transaction's own value.

    The transaction's data is its reference if the recipient ran no code, or if a trace shows everything that the
    recipient's code moved. Without a trace, a contract's code may have sent the money on or back. So only the growth of
    the contract's balance in the block can be claimed.
    """
    value, to = quantity(transaction.get("value")), transaction.get("to")
    if value == 0 or to is None:
        return ()
    sender, data = address(transaction.get("from")), data_bytes(transaction.get("input"))
    own = Transfer("value", "", sender, address(to), value, is_marked=is_marked(data, 0), made_by=sender)
    is_plain = _ran_no_code(transaction, receipt) or evidence.has_code is False
    if trace is not None or (is_plain and _is_ordinary(transaction)):
        return (_carrying(own, reference_at(data, 0)),)
    gain = max(evidence.gain, 0) if _is_ordinary(transaction) else 0
    return (replace(own, claimable=None if gain >= value else gain),)


def _inner_values(trace: Trace, mentions: Mentions) -> tuple[Transfer, ...]:
    """Return the transfers in inner calls. The first call is the transaction itself, whose value is returned by
    `_own_value`.
    """
    found: list[Transfer] = []
    for place, call in enumerate(trace.calls):
        if place == 0 or not call.value or call.sender == call.to:
            continue
        moved = Transfer(
            call.slot, "", call.sender, call.to, call.value, within=mentions.around(trace, place)
        )
        # The balance of a destroyed contract can't be claimed; neither can the value of a creation.
        if call.kind == "CALL":
            moved = replace(moved, made_by=call.sender, is_marked=is_marked(call.data, 0))
            moved = _carrying(moved, reference_at(call.data, 0))
        found.append(moved)
    return tuple(found)


def _carrying(transfer: Transfer, reference: bytes | None) -> Transfer:
    return transfer if reference is None else replace(transfer, references=(reference,))
