"""Finding payments whose hash was never submitted, by the recipients' `Transfer` logs (contract 8).

Native coin leaves no log, so it is not found this way.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from chains.clients.base import ChainError, SearchLimits, TransactionFacts, Watch
from chains.clients.evm_transfers import TRANSFER_TOPIC, needs_trace
from chains.clients.quantities import data_bytes, hash32, to_hex
from chains.clients.rpc import Call

MOST_BLOCKS = 1000
FIRST_LOOK_BACK = 20
MOST_RECIPIENTS = 500
LIMITS = SearchLimits(by_block=True, watches=5000, searches=20)


def block_range(since_block: int | None, latest: int) -> tuple[int, int] | None:
    """Return the first and last block to search now, or None where all were searched before."""
    first = max(latest - FIRST_LOOK_BACK, 0) if since_block is None else since_block
    return (first, min(latest, first + MOST_BLOCKS - 1)) if first <= latest else None


def log_questions(watches: Sequence[Watch], first: int, last: int) -> list[Call]:
    """Return the queries for the watched tokens' transfers to the watched recipients: one for each 500 recipients."""
    tokens = sorted({watch.token for watch in watches if watch.token})
    recipients = sorted({watch.recipient for watch in watches if watch.token})
    return [
        (
            "eth_getLogs",
            [
                {
                    "fromBlock": hex(first),
                    "toBlock": hex(last),
                    "address": tokens,
                    "topics": [to_hex(TRANSFER_TOPIC), None, [_topic(recipient) for recipient in part]],
                }
            ],
        )
        for part in (
            recipients[start : start + MOST_RECIPIENTS]
            for start in range(0, len(recipients), MOST_RECIPIENTS)
        )
    ]


def transaction_hashes(answers: Iterable[Any]) -> list[str]:
    """Return the distinct transactions of the logs in these answers."""
    hashes = set()
    for logs in answers:
        if not isinstance(logs, list) or not all(isinstance(log, dict) for log in logs):
            raise ChainError("the node's answer is not a list of logs")
        hashes |= {hash32(log.get("transactionHash")) for log in logs}
    return sorted(hashes)


def worth_tracing(watches: Sequence[Watch]) -> Callable[[dict[str, Any], dict[str, Any]], bool]:
    """Return whether a transaction is worth a trace: only if a watched reference stands somewhere in its data."""
    references = [watch.reference for watch in watches]

    def judge(transaction: dict[str, Any], receipt: dict[str, Any]) -> bool:
        data = data_bytes(transaction.get("input"))
        return any(reference in data for reference in references) and needs_trace(transaction, receipt)

    return judge


def matches(
    watches: Sequence[Watch], transactions: Iterable[TransactionFacts | None]
) -> tuple[tuple[bytes, str], ...]:
    """Return (reference, hash) for each watched reference on a transfer of the right token to the right wallet."""
    wanted = {(watch.reference, watch.token, watch.recipient) for watch in watches}
    return tuple(
        sorted(
            {
                (reference, facts.hash)
                for facts in transactions
                if facts is not None
                for transfer in facts.transfers
                for reference in transfer.references
                if transfer.amount > 0 and (reference, transfer.token, transfer.recipient) in wanted
            }
        )
    )


def _topic(address: str) -> str:
    return "0x" + address[2:].lower().rjust(64, "0")
