"""Lookups: one row for each transaction that the service looks up on a chain."""

from collections.abc import Collection

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Least

from chains.fields import BaseUnitsField, base_units_constraint
from chains.models import Chain
from merchants.models import Merchant
from payments.models.payment import Payment
from payments.models.swap import Swap, swap_of


class Lookup(models.Model):
    """A transaction to look up: the customer's transaction (`of_payment`), or the transaction that delivered a swap,
    as the provider reports (`of_swap`).

    A payment of native coin at a deposit address is looked up by the address's balance instead. The lookup of such
    a payment has `address:sequence` in place of a hash. `received` is the total, in base units, that the address
    had received by the block with `block_number` and `block_hash`.

    Due work:

    - `next_check_at`: the time of the next lookup, or null.
    - `finality_check_at`: when to check again that the transaction which decided the payment is still in its block.
      Null once the block is final, because no reorganisation can reverse the result then.
    - `finality_misses`: how many of these checks in a row did not find the transaction.
    - `claim_id`, `lease_until`: the lease of the worker that looks it up. A worker can store its result only while
      the claim id is its own.
    - `attempts`: the number of lookups that did not find the transaction.
    - `merchant`: the merchant of the request, so that merchants take turns.
    - `is_simulated`: the sandbox made the transaction, so no node knows it.

    If the wallet returned a proposal's id instead of a hash (see `chains.facts.proposals`):

    - `proposal_id`, `proposal_account`: the proposal's id, and the contract account that executes it.
    - `further_accounts`: other accounts that may execute the proposal, since the id was submitted for each of them.
    - `proposal_check_at`: the time of the next search for the execution, or null. Until the execution is found, the
      payment is `pending` and no other check is scheduled. If the payment is `reorged`, its proposal may be
      executed again.
    - `proposal_block`: the next block to search; null before the first search.

    What the nodes reported:

    - `seen_at`: when a node first knew the transaction.
    - `first_block_time`, `first_block_number`: the first block in which our nodes saw the transaction. A
      reorganisation does not change them.
    """

    of_payment = models.OneToOneField(
        Payment, on_delete=models.CASCADE, null=True, blank=True, related_name="lookup"
    )
    of_swap = models.OneToOneField(
        Swap, on_delete=models.CASCADE, null=True, blank=True, related_name="delivery"
    )
    chain = models.ForeignKey(Chain, on_delete=models.PROTECT, related_name="+", db_index=False)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+", db_index=False)
    transaction_hash = models.CharField(max_length=90)
    is_simulated = models.BooleanField(default=False)

    next_check_at = models.DateTimeField(null=True, blank=True)
    finality_check_at = models.DateTimeField(null=True, blank=True)
    finality_misses = models.PositiveSmallIntegerField(default=0)
    claim_id = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)

    proposal_id = models.CharField(max_length=66, blank=True, default="", db_default="")
    proposal_account = models.CharField(max_length=64, blank=True, default="", db_default="")
    further_accounts = ArrayField(models.CharField(max_length=64), null=True, blank=True)
    proposal_check_at = models.DateTimeField(null=True, blank=True)
    proposal_block = models.BigIntegerField(null=True, blank=True)

    seen_at = models.DateTimeField(null=True, blank=True)
    block_number = models.BigIntegerField(null=True, blank=True)
    block_hash = models.CharField(max_length=90, blank=True)
    block_time = models.DateTimeField(null=True, blank=True)
    first_block_number = models.BigIntegerField(null=True, blank=True)
    first_block_time = models.DateTimeField(null=True, blank=True)
    confirmations = models.PositiveBigIntegerField(default=0)
    confirmations_required = models.PositiveIntegerField(null=True, blank=True)
    received = BaseUnitsField(null=True, blank=True, editable=False)

    class Meta:
        constraints = (
            base_units_constraint("received", "lookup"),
            models.CheckConstraint(
                condition=Q(of_payment__isnull=False, of_swap__isnull=True)
                | Q(of_payment__isnull=True, of_swap__isnull=False),
                name="lookup_is_of_a_payment_or_of_a_swap",
            ),
        )
        indexes = (
            # For `payments.verification.leasing`: the due lookups by chain and merchant. Lookups of missing
            # transactions come last.
            models.Index(
                F("chain"),
                F("merchant"),
                Least(F("attempts"), 1),
                F("next_check_at"),
                condition=Q(is_simulated=False, next_check_at__isnull=False),
                name="lookup_due_in_turns",
            ),
            models.Index(
                fields=("next_check_at",), condition=Q(next_check_at__isnull=False), name="lookup_due"
            ),
            models.Index(
                fields=("finality_check_at",),
                condition=Q(finality_check_at__isnull=False),
                name="lookup_due_at_finality",
            ),
            models.Index(
                fields=("proposal_check_at",),
                condition=Q(proposal_check_at__isnull=False),
                name="lookup_due_for_proposal",
            ),
            models.Index(
                fields=("transaction_hash",),
                condition=Q(of_swap__isnull=False),
                name="lookup_delivery_hash",
            ),
        )

    def __str__(self) -> str:
        return self.transaction_hash

    @classmethod
    def of(cls, payment_ids: Collection[str]) -> QuerySet["Lookup"]:
        """Return the lookups of these payments and of their swaps' deliveries."""
        return cls.objects.filter(Q(of_payment__in=payment_ids) | Q(of_swap__in=payment_ids))

    @property
    def payment(self) -> Payment:
        if self.of_payment is not None:
            return self.of_payment
        if self.of_swap is None:
            raise ValueError("a lookup is of a payment or of a swap")
        return self.of_swap.payment

    @property
    def payment_id(self) -> str:
        """The payment's id, which is also the id of its swap."""
        return self.of_payment_id or self.of_swap_id or ""

    @property
    def is_delivery(self) -> bool:
        """Whether a routing provider reports this transaction as the delivery of a swap."""
        return self.of_swap_id is not None

    @property
    def is_difference(self) -> bool:
        """Whether this is the balance of native coin at a deposit address, not a transaction."""
        return not self.is_delivery and self.payment.deposit_sequence is not None

    @property
    def credit_key(self) -> str:
        """The key under which the lookup's transfers are credited: the transaction's hash, or the deposit address."""
        return self.transaction_hash.partition(":")[0]

    @property
    def is_customers_own(self) -> bool:
        """Whether the customer sent the transaction.

        In a single-chain swap, the same transaction may be the delivery too.
        """
        payment = self.payment
        return not self.is_delivery or (
            (self.chain_id, self.transaction_hash) == (payment.chain_id, payment.transaction_hash)
        )

    @property
    def proposal_accounts(self) -> list[str]:
        return [self.proposal_account, *(self.further_accounts or ())] if self.proposal_id else []

    @property
    def is_awaited(self) -> bool:
        """Whether the proposal still has to be executed by other signers."""
        return self.proposal_check_at is not None

    @property
    def is_seen(self) -> bool:
        return self.seen_at is not None or self.block_number is not None


def delivery_of(payment: Payment) -> Lookup | None:
    """Return the lookup of the transaction that the swap's provider reports as the delivery, or None."""
    delivery: Lookup | None = getattr(swap_of(payment), "delivery", None)
    return delivery
