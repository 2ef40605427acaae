"""Rules that must always hold, according to the model, which knows the owner and the result of each unit.

These checks don't use the service's own evaluation. They compare the service's rows with the model.
"""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from payments.models import ConsumedTransfer, Payment, PaymentRequest
from tests.integration.properties.counts import HAPPENED
from tests.integration.properties.ledger import (
    FINALITY,
    MERCHANT,
    POOL,
    THE_THIEFS,
    TOKEN,
    Ledger,
    Move,
    Noise,
    Sent,
)
from tests.integration.properties.world import LAST_RETRY, Intent, World
from webhooks.models import Event

# Rejections that a reorganisation can reverse.
DECIDED_BY_THE_CHAIN = frozenset(
    {
        *("transaction_reverted", "wrong_token", "wrong_recipient", "wrong_amount", "transaction_too_old"),
        *("transaction_not_bound", "transaction_ambiguous", "transaction_already_used", "not_verifiable"),
    }
)
CREDITED = ("payment.succeeded", "payment.partially_paid", "payment.overpaid")
ACCEPTABLE = ("transaction_not_bound", "transaction_ambiguous", "not_verifiable")


# The columns that the checks compare. Only these are read, because the checks run after each step.
PAYMENT_COLUMNS = (
    *(
        "pk",
        "status",
        "request_id",
        "chain_id",
        "transaction_hash",
        "swap__delivery__transaction_hash",
        "type",
    ),
    *("bound_by", "amount_received", "failed_at", "failure_code", "status_detail", "retries"),
    *("sender_signed_at", "replaced_hashes", "reorged", "swap__provider_status", "lookup__attempts"),
    *("lookup__proposal_id", "lookup__proposal_account", "lookup__further_accounts"),
    *("lookup__transaction_hash",),
)


class Row(SimpleNamespace):
    """The columns of one payment, request or consumed transfer."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    @property
    def is_open(self) -> bool:
        return self.status in Payment.OPEN


def rows_of(query: QuerySet[Any], *columns: str) -> list[Row]:
    return [Row(**dict(zip(columns, values, strict=True))) for values in query.values_list(*columns)]


@dataclass
class Oracle:
    """The model's books next to the service's own. `check` compares them after each step."""

    world: World
    credits: dict[tuple[str, str], Row] = field(default_factory=dict)
    moves: dict[tuple[str, str], tuple[Move, ...]] = field(default_factory=dict)
    """What each credited transaction moved when it was credited; after a reorganisation it may move less."""
    payments: dict[str, Row] = field(default_factory=dict)
    requests: dict[UUID, str] = field(default_factory=dict)

    def check(self) -> None:
        payments = {row.pk: row for row in rows_of(Payment.objects.order_by(), *PAYMENT_COLUMNS)}
        consumed = rows_of(
            ConsumedTransfer.objects.all(),
            *("chain_id", "transaction_hash", "slot", "payment_id", "account", "amount"),
        )
        for row in consumed:
            if (row.transaction_hash, row.slot) not in self.credits:
                self.credits[row.transaction_hash, row.slot] = row
                self.moves[row.transaction_hash, row.slot] = self.world.home.sent[row.transaction_hash].moves
                self._check_credit(row, payments[row.payment_id])
        self._check_totals(consumed, payments)
        by_payment: Counter[str] = Counter()
        by_request: Counter[UUID] = Counter()
        for row in consumed:
            by_payment[row.payment_id] += int(row.amount)
            by_request[payments[row.payment_id].request_id] += int(row.amount)
        for payment in payments.values():
            self._check_payment(payment, by_payment[payment.pk])
        requests = PaymentRequest.objects.order_by()
        for request in rows_of(requests, "pk", "status", "amount", "amount_paid"):
            self._check_request(request, by_request[request.pk])
        self.payments = payments

    # --- money ---------------------------------------------------------------------------------------------------

    def _check_credit(self, row: Row, payment: Row) -> None:
        """Credited money arrived, is deep enough, and was meant for this request."""
        home = self.world.home
        assert row.chain_id == self.world.home_chain.pk
        sent = home.sent[row.transaction_hash]
        move = sent.moves[int(row.slot)]
        where = f"{payment.bound_by} took {move} of {sent} for {payment.request_id}"
        assert sent.is_mined, where
        assert sent.succeeds, where
        assert sent.is_readable, where
        assert self._is_deep(home, sent), where
        assert (move.recipient, move.token, move.is_round) == (MERCHANT, TOKEN, False), where
        assert 0 < row.amount <= move.amount, where
        if payment.bound_by == Payment.BoundBy.MANUAL:
            assert payment.pk in self.world.accepted, where
            assert not self._is_claimed_elsewhere(sent, move, payment.request_id), where

    def _is_claimed_elsewhere(self, sent: Sent, move: Move, request: UUID) -> bool:
        """Whether a customer bound the money to another request, and nodes can show it."""
        is_shown = not (move.is_inner and self.world.home.is_blind_to(sent))
        return is_shown and bool(move.owners) and request not in (move.owners or ()) and bool(move.references)

    def _check_totals(self, consumed: list[Row], payments: dict[str, Row]) -> None:
        """A transaction gives no more than arrived, and a request gets no more than was meant for it.

        Any amount above that must be the thief's own money. A thief who pays for others robs no one.
        """
        by_hash: dict[str, list[Row]] = defaultdict(list)
        for row in consumed:
            sent = self.world.home.sent[row.transaction_hash]
            # After a reorganisation, a credited transaction may be gone, or be mined again without this
            # money.
            if sent.is_mined and sent.moves == self.moves[row.transaction_hash, row.slot]:
                by_hash[row.transaction_hash].append(row)
        for hash_, rows in by_hash.items():
            sent = self.world.home.sent[hash_]
            where = f"{[(row.slot, row.amount, payments[row.payment_id]) for row in rows]} of {sent}"
            credited: Counter[UUID] = Counter()
            for row in rows:
                if payments[row.payment_id].bound_by != Payment.BoundBy.MANUAL:
                    credited[payments[row.payment_id].request_id] += int(row.amount)
            beyond = sum(max(amount - meant_for(request, sent), 0) for request, amount in credited.items())
            assert beyond <= max(net(sent, thiefs_only=True), 0), where
            accepted = any(payments[row.payment_id].bound_by == Payment.BoundBy.MANUAL for row in rows)
            limit = net(sent) + (lent_to_others(sent) if accepted else 0)
            assert sum(int(row.amount) for row in rows) <= limit, where
            for account in {row.account for row in rows if row.account}:
                taken = sum(int(row.amount) for row in rows if row.account == account)
                assert taken <= self.world.home.gain(sent, account), where

    # --- statuses ------------------------------------------------------------------------------------------------

    def _check_payment(self, payment: Row, credited: int) -> None:
        before = self.payments.get(payment.pk)
        if payment.status == Payment.Status.COMPLETED:
            assert payment.amount_received == credited > 0
            return
        assert credited == 0
        assert before is None or before.status != Payment.Status.COMPLETED
        has_failed_now = payment.status == Payment.Status.FAILED and (
            before is None or before.failed_at != payment.failed_at
        )
        if has_failed_now and payment.failure_code in DECIDED_BY_THE_CHAIN:
            self._check_no(payment)

    def _is_deep(self, ledger: Ledger, sent: Sent) -> bool:
        """Whether the transaction is as deep as the chain requires.

        Once it was called final, it stays final even if newer blocks are undone.
        """
        required = self.world.setting.required
        is_final = required == FINALITY and sent.is_mined and sent.at <= ledger.final
        return is_final or ledger.depth_of(sent) >= required

    def _check_no(self, payment: Row) -> None:
        """A payment is rejected only at the required depth. Money that the nodes can't explain is never rejected."""
        if payment.type == Payment.Type.SWAP or payment.swap__delivery__transaction_hash:
            return  # the provider's data decides
        ledger = self.world.ledger_of(payment.chain_id)
        if payment.transaction_hash == payment.lookup__proposal_id:
            self._check_failed_execution(ledger, payment)
            return
        sent = ledger.sent[payment.transaction_hash]
        where = f"{payment.failure_code} of {sent}"
        assert self._is_deep(ledger, sent) if ledger is self.world.home else sent.is_mined, where
        if ledger is not self.world.home or not sent.succeeds:
            return
        if not sent.is_readable:
            assert payment.failure_code == "not_verifiable", where
        elif ledger.is_blind_to(sent) and net(sent) > 0:
            assert payment.failure_code != "transaction_not_bound", where

    def _check_failed_execution(self, ledger: Ledger, payment: Row) -> None:
        """An id fails only at the required depth, by an event of its own account."""
        HAPPENED["failed execution of an id"] += 1
        assert payment.failure_code == "transaction_reverted"
        assert self._is_deep(ledger, ledger.sent[payment.lookup__transaction_hash])
        accounts = [payment.lookup__proposal_account, *(payment.lookup__further_accounts or ())]
        assert any(
            event.has_failed and event.account in accounts and event.id == payment.lookup__proposal_id
            for event in ledger.executed
        )

    def _check_request(self, request: Row, credited: int) -> None:
        before = self.requests.get(request.pk)
        status = self.requests[request.pk] = request.status
        assert request.amount_paid == credited
        if status == PaymentRequest.Status.CANCELLED:
            assert before in (None, "active", "cancelled")
        else:
            assert (status == PaymentRequest.Status.COMPLETED) is (credited >= request.amount)
        assert before not in ("completed", "cancelled") or status == before
        assert before != "expired" or status in ("expired", "completed")

    # --- at the end ----------------------------------------------------------------------------------------------

    def check_events(self) -> None:
        """Each change sent exactly one event."""
        sent: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for event in Event.objects.all():
            sent[event.type].append(json.loads(bytes(event.body))["data"]["object"])
        full = {str(r.pk) for r in PaymentRequest.objects.all() if r.amount_paid >= r.amount}
        assert Counter(each["payment_request"] for each in sent["payment.succeeded"]) == Counter(full)
        expired = Counter(each["payment_request"] for each in sent["payment.expired"])
        assert all(count == 1 for count in expired.values())
        credited = Counter(each["id"] for name in CREDITED for each in sent[name])
        completed = Payment.objects.filter(status=Payment.Status.COMPLETED).values_list("pk", flat=True)
        assert credited == Counter(completed)
        own = {intent.money.hash for intent in self.world.intents if intent.money}
        unbound = Counter(
            each["payment_request"]
            for each in sent["payment.failed"]
            if each["failure_code"] in ("transaction_not_bound", "transaction_not_found")
            and each["transaction_hash"] not in own
            and each["id"] not in self.world.accepted
            and each["type"] == "direct"
        )
        assert all(count == 1 for count in unbound.values()), unbound

    def count_credits(self) -> None:
        """Count the ways in which credited payments were bound and found."""
        for row in self.payments.values():
            if row.status == Payment.Status.COMPLETED:
                by = f"credited by {row.bound_by}"
                HAPPENED[by] += 1
                HAPPENED[f"{by}, found by an id"] += bool(row.lookup__proposal_id)
                HAPPENED[f"{by}, proved afterwards"] += row.sender_signed_at is not None

    def missing(self) -> list[Intent]:
        """Return the honest payments on the chain that were not credited, whether nodes can verify them or not."""
        return [intent for intent in self.world.intents if self._is_missing(intent)]

    def check_nothing_is_lost(self) -> None:
        """Each honest payment on the final chain that nodes can verify was credited."""
        for intent in self.missing():
            self._check_missing(intent)

    def _is_missing(self, intent: Intent) -> bool:
        if not self.world.source_holds(intent):
            return False
        sent = intent.money or intent.sent
        if sent is None or not sent.is_mined or not sent.succeeds:
            return any(each.at != POOL for each in (sent,) if each)
        rows = [row for (hash_, _), row in self.credits.items() if hash_ == sent.hash]
        if any(self.payments[row.payment_id].bound_by == Payment.BoundBy.MANUAL for row in rows):
            return False  # the merchant accepted it for another request
        own = [
            row
            for row in rows
            if self.payments[row.payment_id].request_id == intent.request and self._is_still_there(row)
        ]
        due = sum(
            each.amount
            for each in self.world.intents
            if each.request == intent.request
            and each.money is sent
            and self.world.source_holds(each)
            and (each is intent or self._is_due(sent, each))
        )
        return sum(int(row.amount) for row in own) < due

    def _is_due(self, sent: Sent, intent: Intent) -> bool:
        """Whether this transaction must be credited for the honest payment, because no earlier one was."""
        payment = self._payment_of(intent)
        was_credited = payment is not None and self._was_credited_before(payment, sent)
        return is_verifiable(self.world.home, sent, intent) and not was_credited

    def _check_missing(self, intent: Intent) -> None:
        sent = intent.money
        if sent is None or not sent.is_mined or not sent.succeeds or pays_its_signer(sent):
            return
        payment = self._payment_of(intent)
        where = f"{intent} is {payment and (payment.status, payment.failure_code, payment.status_detail)}"
        assert payment is not None, where
        if payment.retries >= LAST_RETRY or self._was_credited_before(payment, sent):
            return
        is_late = is_after(sent, intent)
        is_known = payment.failure_code in ACCEPTABLE or payment.is_open or is_late
        assert is_known, where
        assert not is_verifiable(self.world.home, sent, intent), where

    def _was_credited_before(self, payment: Row, sent: Sent) -> bool:
        """Whether another delivery or execution was credited before and then reorganised away. Its event was sent."""
        rows = [row for row in self.credits.values() if row.payment_id == payment.pk]
        return any(row.transaction_hash != sent.hash for row in rows)

    def _is_still_there(self, row: Row) -> bool:
        """Whether the transaction still contains the credited movement. It may have been mined again without it."""
        credited = self.moves[row.transaction_hash, row.slot][int(row.slot)]
        return self.world.home.sent[row.transaction_hash].moves[int(row.slot)] == credited

    def _payment_of(self, intent: Intent) -> Row | None:
        """Return the payment of this transaction, or the one credited for an earlier execution of the id."""
        sent = intent.sent
        if sent is None:
            return None
        own = [each for each in self.payments.values() if each.request_id == intent.request]
        for payment in own:
            if sent.hash in {payment.transaction_hash, *payment.replaced_hashes}:
                return payment
        for payment in own:
            if intent.proposal in payment.replaced_hashes and self._was_credited_before(payment, sent):
                return payment
        return None


def meant_for(request: UUID, sent: Sent) -> int:
    """Return the amount that honest customers sent for the request in this transaction."""
    owners = frozenset({request})
    return sum(move.amount for move in sent.moves if move.owners == owners and move.recipient == MERCHANT)


def net(sent: Sent, *, thiefs_only: bool = False) -> int:
    """Return the merchant's gain from the transaction: of the thief's money only, or of all money."""
    return sum(
        (move.recipient == MERCHANT) * move.amount - (move.sender == MERCHANT) * move.amount
        for move in sent.moves
        if move.token == TOKEN and (move.owners is THE_THIEFS or not thiefs_only)
    )


def lent_to_others(sent: Sent) -> int:
    """Return the amount that the merchant's contract sent to accounts that paid it nothing.

    A merchant who accepts such a payment was warned that it may be the merchant's own money.
    """
    payers = {sent.sender, MERCHANT}
    payers.update(
        account
        for move in sent.moves
        if move.recipient == MERCHANT
        for account in (move.sender, move.made_by)
    )
    return sum(
        move.amount
        for move in sent.moves
        if move.sender == MERCHANT and move.recipient not in payers and move.token == TOKEN
    )


def pays_its_signer(sent: Sent) -> bool:
    """Whether the merchant's contract paid the transaction's sender. Then the money's owner can't be known."""
    return any(move.sender == MERCHANT and move.recipient == sent.sender for move in sent.moves)


def is_verifiable(home: Ledger, sent: Sent, intent: Intent) -> bool:
    """Whether nodes can show what the honest payment pays."""
    if sent.noise is not Noise.QUIET:
        return False
    if intent.kind == "by hand" and not intent.is_proved_afterwards:
        return False  # only the customer's signature or the merchant can say what it pays
    if intent.kind in ("wallet", "proved wallet") and (
        home.is_blind_to(sent) or may_be_lent(home, sent, intent)
    ):
        return False
    if intent.kind == "proved wallet" and home.is_solana and sent.mentions:
        return False  # on Solana, it may be the last step of the swap that the transaction names
    return not is_after(sent, intent)


def may_be_lent(home: Ledger, sent: Sent, intent: Intent) -> bool:
    """Whether the merchant's contract sent money out before this arrived. This may be that money on its way back.

    It also applies if a thief's contract was paid first and then paid the merchant. That payment may be the
    delivery of another customer's swap, which must not count as returned money.
    """
    own = next((place for place, move in enumerate(sent.moves) if move.owners == {intent.request}), 0)
    return not home.is_solana and any(
        move.sender == MERCHANT != move.recipient and move.token == TOKEN for move in sent.moves[:own]
    )


def is_after(sent: Sent, intent: Intent) -> bool:
    """Whether the transaction was mined after the customer's proof expired."""
    return bool(intent.proved_until and sent.mined_at and sent.mined_at > intent.proved_until)
