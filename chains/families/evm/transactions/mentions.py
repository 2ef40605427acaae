"""Find the calls and logs of watched contracts in a transaction, and the transfers within those calls."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chains.client import Mention
from chains.families.evm.quantities import address, data_bytes
from chains.families.evm.transactions.signed_calls import Execution, Log
from chains.families.evm.transactions.trace import Trace


@dataclass(frozen=True)
class Mentions:
    """The mentions of a transaction.

    `by_call` maps a call's index in the trace to its mention's index in `all`. Without a trace, only the transaction's
    own call has an index: 0.
    """

    all: tuple[Mention, ...] = ()
    by_call: Mapping[int, int] = field(default_factory=dict)

    def around(self, trace: Trace, call: int) -> tuple[int, ...]:
        """Return the indexes of the mentions that enclose a call of the trace, from the outside in."""
        return tuple(sorted(self.by_call[place] for place in trace.enclosing(call) if place in self.by_call))

    def of_own_call(self, sender: str) -> tuple[int, ...]:
        """Return the mention of the transaction's own call if it goes to `sender`, because this call encloses
        `sender`'s transfers.
        """
        return tuple(place for place in self.by_call.values() if self.all[place].contract == sender)


def mentions(
    transaction: dict[str, Any],
    logs: Sequence[Log],
    trace: Trace | None,
    watched: Collection[str],
    executions: Sequence[Execution] = (),
) -> Mentions:
    """Return the calls to the `watched` contracts, with their whole input, and then those contracts' logs.

    Inner calls are found in a trace, or in `executions`: the calls that accounts of known code made. An account's call
    in `executions` encloses no transfer, because another call of its batch may have caused the transfer. Raises
    ChainError for a malformed transaction.
    """
    if not watched:
        return Mentions()
    found: list[Mention] = []
    by_call: dict[int, int] = {}
    to = transaction.get("to")
    own = address(to) if to is not None else ""
    if own in watched:
        by_call[0] = 0
        found.append(Mention(own, data_bytes(transaction.get("input"))))
    for place, call in enumerate(trace.calls if trace is not None else ()):
        if place and call.kind == "CALL" and call.to in watched:
            by_call[place] = len(found)
            found.append(Mention(call.to, call.data))
    if trace is None:
        found += _executed(executions, watched, len(data_bytes(transaction.get("input"))))
    found += [
        Mention(log.address, b"".join(log.topics) + log.data, is_log=True)
        for log in logs
        if log.address in watched
    ]
    return Mentions(tuple(found), by_call)


def _executed(executions: Sequence[Execution], watched: Collection[str], size: int) -> list[Mention]:
    """Return the accounts' calls to the `watched` contracts.

    Encoded arguments can point to the same bytes many times. If the calls have more bytes than the transaction, return
    nothing.
    """
    calls = [call for execution in executions for call in execution.calls if call.to in watched]
    if sum(len(call.data) for call in calls) > size:
        return []
    return [Mention(call.to, bytes(call.data)) for call in calls]
