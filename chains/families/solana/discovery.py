"""Find payments by their reference's key.

Anyone can put this key into their own transactions, so the search looks each transaction up and discards the wrong
ones. Wrong transactions can't hide a payment or delay other references. Source: Solana's RPC method
getSignaturesForAddress, a paginated list, newest first.
"""

import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chains.client import ChainError, Snapshot, TransactionFacts, Watch
from chains.families.solana.commitments import CONFIRMED
from chains.families.solana.normalisation import solana_signature
from chains.families.solana.references import reference_key
from chains.families.solana.results import result_of, sequence, value_of, whole
from chains.rpc.json_rpc import Call, JsonRpc, json_object

logger = logging.getLogger(__name__)

_PAGE = 50
_MAX_PAGES = 50  # pages of older gaps in one round
_MAX_ROUNDS = 8
_MAX_LOOKUPS = 200  # transactions in one search
_MAX_RETRIES = 50  # postponed transactions in one search
_MAX_AT_ONCE = 100
_MAX_FAILURES = 3
_MAX_GAPS = 16
_MAX_POSTPONED = 200
_MAX_FOUND = 500
_MAX_DOUBTFUL = 5
_MAX_TRAILS = 20_000
# Nodes may index a transaction late, so the newest transactions are listed again: those of about 40 seconds.
_SLOTS_LISTED_AGAIN = 100

_Pairs = tuple[tuple[bytes, str], ...]


class Finds(NamedTuple):
    """The (reference, signature) pairs of a search: those that pay, and those that could not be read, so may pay."""

    found: _Pairs
    doubtful: _Pairs


class _Listed(NamedTuple):
    """A transaction in a node's list."""

    signature: str
    succeeded: bool
    slot: int


@dataclass
class _Gap:
    """Transactions that were not looked up yet: older than `before` and newer than `until`."""

    before: str | None
    until: str | None


@dataclass
class _Trail:
    """The progress of one watch. All transactions were looked up, except those in `gaps` (the newest first).

    `postponed` has the transactions that could not be read yet, and whether a node returned them in an unknown form.
    `found` has the watch's payments, and `doubtful` some of the transactions in an unknown form. If `is_lossy`, a
    transaction was forgotten before any node returned it. Searches are numbered: `served` is the number of the last
    search that looked up a transaction of this watch.

    The next search lists the transactions after `anchor` again. `recent` has those that were listed.
    """

    newest: str | None = None
    anchor: str | None = None
    recent: set[str] = field(default_factory=set)
    gaps: list[_Gap] = field(default_factory=list)
    postponed: dict[str, bool] = field(default_factory=dict)
    found: dict[str, None] = field(default_factory=dict)
    doubtful: dict[str, None] = field(default_factory=dict)
    is_lossy: bool = False
    served: int = 0


@dataclass
class _Page:
    """A page of the transactions with a watch's key, newest first.

    The first `planned` entries are looked up next. On a watch's newest page, `listed` also has the transactions that
    were listed again.
    """

    watch: Watch
    trail: _Trail
    gap: _Gap
    entries: Sequence[_Listed]
    listed: Sequence[_Listed] = ()
    planned: int = 0

    def plan_one(self) -> bool:
        """Plan the entries up to the next transaction that succeeded; return whether there is one. Failed transactions
        need no lookup.
        """
        while self.planned < len(self.entries):
            entry = self.entries[self.planned]
            self.planned += 1
            if entry.succeeded:
                return True
        return False

    def wanted(self) -> list[str]:
        return [entry.signature for entry in self.entries[: self.planned] if entry.succeeded]


class ReferenceSearch:
    """The search for watched references on one cluster.

    The search's progress is stored in this process. Threads can share an instance; its searches run one at a time.
    """

    def __init__(self, rpc: JsonRpc, look_up: Callable[[Sequence[str]], Snapshot]) -> None:
        self._rpc = rpc
        self._look_up = look_up
        self._lock = threading.Lock()
        self._trails: OrderedDict[Watch, _Trail] = OrderedDict()
        self._searches = 0
        self._at_once = _MAX_AT_ONCE

    def run(self, watches: Sequence[Watch]) -> Finds:
        """Run one search with a limited amount of work. Return all payments that were found so far, and at most 5
        transactions of each watch that could not be read.

        Raises ChainError if no node lists transactions.
        """
        with self._lock:
            self._searches += 1
            watched = list(dict.fromkeys(watches))
            lookups = _Lookups(self._look_up, self._at_once)
            self._look_up_pages(self._newest(watched), lookups)
            for _ in range(_MAX_ROUNDS):
                waiting = self._with_gaps(watched)
                if lookups.is_finished or not waiting:
                    break
                self._look_up_pages(self._older(waiting), lookups)
            self._retry_postponed(watched, lookups)
            self._at_once = lookups.at_once
            self._restart_lossy(watched)
            while len(self._trails) > _MAX_TRAILS:
                self._trails.popitem(last=False)
            known = [(watch, self._trails[watch]) for watch in watched if watch in self._trails]
            return Finds(
                tuple((watch.reference, signature) for watch, trail in known for signature in trail.found),
                tuple((watch.reference, signature) for watch, trail in known for signature in trail.doubtful),
            )

    def _newest(self, watches: Sequence[Watch]) -> list[_Page]:
        """Return the newest page of each watch's transactions. Postpone transactions that a node listed late.

        The watch whose transactions were looked up longest ago comes first.
        """
        trails = [self._trails.get(watch) or _Trail() for watch in watches]
        calls = [
            _list_call(watch, _Gap(None, trail.anchor)) for watch, trail in zip(watches, trails, strict=True)
        ]
        pages = []
        results = self._rpc.batch(calls, lambda results: [_listed(a) for a in results]) if calls else []
        for watch, trail, listed in zip(watches, trails, results, strict=True):
            signatures = [entry.signature for entry in listed]
            new = signatures.index(trail.newest) if trail.newest in signatures else len(listed)
            _postpone_late(trail, listed[new:])
            if new > 0:
                pages.append(_Page(watch, trail, _Gap(None, trail.newest), listed[:new], listed))
        return sorted(pages, key=lambda page: page.trail.served)

    def _with_gaps(self, watches: Iterable[Watch]) -> list[tuple[Watch, _Trail]]:
        known = ((watch, self._trails[watch]) for watch in watches if watch in self._trails)
        waiting = sorted((pair for pair in known if pair[1].gaps), key=lambda pair: pair[1].served)
        return waiting[:_MAX_PAGES]

    def _older(self, waiting: Sequence[tuple[Watch, _Trail]]) -> list[_Page]:
        """Return the next page of the oldest gap of each watch.

        The gap is finished if a node lists none of its transactions, although the node knows the transaction `before`.
        """
        calls: list[Call] = []
        for watch, trail in waiting:
            gap = trail.gaps[-1]
            calls += [_list_call(watch, gap), _status_call(gap)]
        results = self._rpc.batch(calls, _checked)
        pages = []
        for (watch, trail), listed, status in zip(waiting, results[::2], results[1::2], strict=True):
            gap, entries = trail.gaps[-1], _listed(listed)
            if entries:
                pages.append(_Page(watch, trail, gap, entries))
                continue
            trail.served = self._searches
            if value_of(status)[0] is not None:
                trail.gaps.remove(gap)
        return pages

    def _look_up_pages(self, pages: Sequence[_Page], lookups: "_Lookups") -> None:
        """Look up transactions of these pages in turn, as many as the search allows."""
        turns = deque(pages)
        left = lookups.left
        while turns and left > 0:
            page = turns.popleft()
            if page.plan_one():
                left -= 1
                turns.append(page)
        lookups.run(signature for page in pages for signature in page.wanted())
        for page in pages:
            self._advance(page, lookups)

    def _advance(self, page: _Page, lookups: "_Lookups") -> None:
        """Store the progress up to the first transaction without a result."""
        done = 0
        for signature, succeeded, _ in page.entries[: page.planned]:
            if succeeded and not lookups.has(signature):
                break
            if succeeded:
                self._note(page.watch, page.trail, signature, lookups)
            done += 1
        if page.planned:
            page.trail.served = self._searches
        if done == 0:
            return
        trail, gap = page.trail, page.gap
        if gap.before is None:
            trail.newest = page.entries[0].signature
            trail.anchor = _anchor(page.listed) or trail.anchor
            # A late transaction in an open gap is compared with `recent` once the gap is closed.
            before = trail.recent.intersection(entry.signature for entry in page.listed)
            trail.recent = before.union(entry.signature for entry in page.entries)
            trail.gaps.insert(0, gap)
            if len(trail.gaps) > _MAX_GAPS:
                oldest = trail.gaps.pop()
                trail.gaps[-1].until = oldest.until
        gap.before = page.entries[done - 1].signature
        self._trails[page.watch] = trail
        self._trails.move_to_end(page.watch)

    def _retry_postponed(self, watches: Iterable[Watch], lookups: "_Lookups") -> None:
        """Look up some postponed transactions again. The next search continues with the postponed transactions after
        these.
        """
        known = [(watch, self._trails[watch]) for watch in watches if watch in self._trails]
        waiting = deque((watch, trail, signature) for watch, trail in known for signature in trail.postponed)
        waiting.rotate(-self._searches * _MAX_RETRIES)
        share = list(waiting)[:_MAX_RETRIES]
        lookups.allow(_MAX_RETRIES)
        lookups.run(signature for _, _, signature in share)
        for watch, trail, signature in share:
            if lookups.has(signature):
                del trail.postponed[signature]
                self._note(watch, trail, signature, lookups)

    def _restart_lossy(self, watches: Iterable[Watch]) -> None:
        """List all transactions of a watch again if one was forgotten, once the nodes return transactions again."""
        for watch in watches:
            trail = self._trails.get(watch)
            if trail is not None and trail.is_lossy:
                unknown = sum(not has_unknown_form for has_unknown_form in trail.postponed.values())
                if unknown < _MAX_POSTPONED // 2:
                    del self._trails[watch]

    def _note(self, watch: Watch, trail: _Trail, signature: str, lookups: "_Lookups") -> None:
        """Store the result of a lookup. Postpone a transaction that can't be read."""
        facts = lookups.facts_of(signature)
        # An unreadable transaction with a sender has too many moves. No wallet makes such a payment, so ignore it.
        if facts is None or not (facts.is_readable or facts.sender):
            _postpone(trail, signature, has_unknown_form=facts is not None)
            return
        trail.doubtful.pop(signature, None)
        if pays(facts, watch):
            _keep_found(trail, signature)


class _Lookups:
    """The lookups of one search, one for each transaction. `at_once` adapts to the nodes."""

    def __init__(self, look_up: Callable[[Sequence[str]], Snapshot], at_once: int) -> None:
        self._look_up = look_up
        self._facts: dict[str, TransactionFacts | None] = {}
        self._failures = 0
        self.at_once = at_once
        self.left = _MAX_LOOKUPS

    @property
    def is_finished(self) -> bool:
        """Whether the budget is spent or too many lookups failed."""
        return self.left <= 0 or self._failures >= _MAX_FAILURES

    def allow(self, lookups: int) -> None:
        self.left, self._failures = lookups, 0

    def has(self, signature: str) -> bool:
        return signature in self._facts

    def facts_of(self, signature: str) -> TransactionFacts | None:
        """Return the facts of a transaction after its lookup; None if they are not known yet."""
        return self._facts[signature]

    def run(self, signatures: Iterable[str]) -> None:
        """Look up these transactions in order until the budget is spent or the nodes have failed too often."""
        wanted = [signature for signature in dict.fromkeys(signatures) if signature not in self._facts]
        while wanted and not self.is_finished:
            part, rest = wanted[: self.at_once], wanted[self.at_once :]
            self.left -= len(part)
            try:
                snapshot = self._look_up(part)
            except ChainError as error:
                logger.warning("%d transactions could not be looked up: %s", len(part), error)
                self._failures += 1
                self.at_once = max(1, self.at_once // 8)
                if len(part) == 1:  # postpone this transaction, continue with the others
                    self._facts[part[0]] = None
                    wanted = rest
                continue
            self.at_once = min(_MAX_AT_ONCE, self.at_once * 2)
            self._facts |= {signature: _settled(snapshot, signature) for signature in part}
            wanted = rest


def pays(facts: TransactionFacts, watch: Watch) -> bool:
    """Whether the watch's reference can claim a transfer of this transaction."""
    return facts.succeeded and any(
        watch.reference in transfer.references
        and (transfer.token, transfer.recipient) == (watch.token, watch.recipient)
        and transfer.claimable_amount > 0
        for transfer in facts.transfers
    )


def _settled(snapshot: Snapshot, signature: str) -> TransactionFacts | None:
    facts = snapshot.transactions.get(signature)
    is_known = facts is not None and facts.block is not None and signature not in snapshot.contradicted
    return facts if is_known else None


def _anchor(listed: Sequence[_Listed]) -> str | None:
    """Return the newest transaction that is too old to be listed again; None if there is none."""
    oldest = listed[0].slot - _SLOTS_LISTED_AGAIN
    return next((entry.signature for entry in listed if entry.slot < oldest), None)


def _postpone_late(trail: _Trail, listed_again: Sequence[_Listed]) -> None:
    """Postpone the transactions that an earlier list lacked. Those in the newest gap are listed again later."""
    for entry in listed_again:
        if trail.gaps and entry.signature == trail.gaps[0].before:
            break
        if entry.succeeded and entry.signature not in {*trail.recent, trail.newest}:
            _postpone(trail, entry.signature, has_unknown_form=False)
        trail.recent.add(entry.signature)
    trail.recent.intersection_update(entry.signature for entry in listed_again)


def _postpone(trail: _Trail, signature: str, *, has_unknown_form: bool) -> None:
    """Look the transaction up again later. If too many wait, forget one, preferably one in an unknown form."""
    trail.postponed[signature] = has_unknown_form
    if has_unknown_form and len(trail.doubtful) < _MAX_DOUBTFUL:
        trail.doubtful[signature] = None
    if len(trail.postponed) > _MAX_POSTPONED:
        forgotten = max(trail.postponed, key=trail.postponed.__getitem__)  # the oldest of them
        trail.is_lossy |= not trail.postponed.pop(forgotten)


def _keep_found(trail: _Trail, signature: str) -> None:
    trail.found[signature] = None
    if len(trail.found) > _MAX_FOUND:
        del trail.found[next(iter(trail.found))]


def _list_call(watch: Watch, gap: _Gap) -> Call:
    bounds = {name: at for name, at in (("before", gap.before), ("until", gap.until)) if at is not None}
    options = {"limit": _PAGE, **CONFIRMED, **bounds}
    return "getSignaturesForAddress", [reference_key(watch.reference), options]


def _status_call(gap: _Gap) -> Call:
    return "getSignatureStatuses", [[gap.before], {"searchTransactionHistory": True}]


def _checked(results: list[Any]) -> list[Any]:
    """Return the results of pairs of calls. Raises ChainError if one can't be parsed."""
    for listed, status in zip(results[::2], results[1::2], strict=True):
        _listed(listed)
        if len(sequence(value_of(status))) != 1:
            raise ChainError("the node left out a transaction's status")
    return results


def _listed(result: Any) -> list[_Listed]:
    """Return the listed transactions. Raises ChainError."""
    entries = []
    for entry in map(json_object, sequence(result_of(result))):
        given = entry.get("signature")
        signed = solana_signature(given) if isinstance(given, str) else None
        if signed is None or "err" not in entry:
            raise ChainError("the node's list of transactions is malformed")
        entries.append(_Listed(str(signed), entry["err"] is None, whole(entry.get("slot"))))
    return entries
