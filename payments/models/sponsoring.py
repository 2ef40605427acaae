"""Transfers that payers sign, and the transactions in which the operator's accounts send them."""

from datetime import UTC, datetime

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from chains.facts.authorizations import TokenDomain, TransferAuthorization
from chains.fields import BaseUnitsField, base_units_constraint
from chains.models import Chain, Token
from merchants.models import Merchant
from payments.models.payment import Payment
from payments.models.request import PaymentRequest
from payments.models.route import Route


class Authorization(models.Model):
    """A transfer that a payer can sign for a route. A gas account then sends it.

    The row is stored when the data to sign is built. The transfer counts even if another account sends it, as anyone
    with the signature can. A token accepts each nonce of a payer once, so an authorization belongs to at most one
    payment.

    - `domain_name`, `domain_version`: the domain of the token's signatures.
    - `valid_before`: the time until which the signature is valid, in Unix seconds.
    - `since_block`: the transfer can't be mined in an earlier block.
    - `transaction`, `last_valid_height`: Solana has these instead of the columns above. `transaction` is the
      transaction to sign, and later the transaction with the payer's signature. The operator's account pays the
      fee. The operator's account signs last, so no one else can send the transaction. After `last_valid_height`,
      the transaction can't be mined.
    - `deposit`: what the transaction pays for opening the recipient's token account, in base units of the native
      coin. While one authorization's `cost` is reserved or spent, other authorizations don't pay for opening
      the same token account.
    - `signature`, `signed_at`: null until the payer's signature was accepted. Stored before anything is sent.
    - `day`, `cost`: a signed authorization takes `cost` from the budget of `day` (UTC), in base units of the native
      coin. `cost` is the maximum cost at first, and later the actual cost.
    - `postponed_at`: when a worker last didn't send the transfer, because it would fail or cost too much, or because
      of an error in the worker.
    - `ended_at`: nothing is sent after this time. The payment is completed, or the authorization can't be used any
      more.
    - `next_check_at`: when the chain is next searched for the authorization's use, or null after the last search.
    """

    route = models.OneToOneField(
        Route, on_delete=models.SET_NULL, null=True, related_name="authorization", editable=False
    )
    request = models.ForeignKey(PaymentRequest, on_delete=models.PROTECT, related_name="authorizations")
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="+", db_index=False)
    payment = models.OneToOneField(
        Payment, on_delete=models.PROTECT, null=True, blank=True, related_name="authorization"
    )
    chain = models.ForeignKey(Chain, on_delete=models.PROTECT, related_name="+", db_index=False)
    token = models.ForeignKey(Token, on_delete=models.PROTECT, related_name="+", db_index=False)
    payer = models.CharField(max_length=64)
    recipient = models.CharField(max_length=64)
    amount = BaseUnitsField()
    domain_name = models.CharField(max_length=100)
    domain_version = models.CharField(max_length=100)
    valid_before = models.BigIntegerField(null=True, blank=True)
    nonce = models.BinaryField(max_length=32)
    since_block = models.BigIntegerField()
    transaction = models.BinaryField(max_length=1232, null=True, blank=True)
    last_valid_height = models.BigIntegerField(null=True, blank=True)
    deposit = BaseUnitsField(null=True, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    signature = models.BinaryField(max_length=65, null=True, blank=True)
    signed_at = models.DateTimeField(null=True, blank=True)
    day = models.DateField(null=True, blank=True)
    cost = BaseUnitsField(null=True, blank=True)
    postponed_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    next_check_at = models.DateTimeField(null=True, blank=True)
    claim_id = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("payer", "nonce", "token"), name="authorization_is_one_for_each_nonce"
            ),
            base_units_constraint("amount", "authorization"),
            base_units_constraint("cost", "authorization"),
            base_units_constraint("deposit", "authorization"),
        )
        indexes = (
            models.Index(fields=("nonce",), name="authorization_nonce"),
            models.Index(
                fields=("chain", "day", "merchant"),
                condition=Q(day__isnull=False),
                name="authorization_budget",
            ),
            models.Index(
                fields=("next_check_at",),
                condition=Q(next_check_at__isnull=False),
                name="authorization_due",
            ),
            models.Index(
                fields=("chain", "signed_at"),
                condition=Q(signed_at__isnull=False, ended_at__isnull=True),
                name="authorization_to_relay",
            ),
            models.Index(
                fields=("recipient",),
                condition=Q(deposit__gt=0, signed_at__isnull=False),
                name="authorization_of_accounts",
            ),
        )

    def __str__(self) -> str:
        return f"{self.payer} for {self.request_id}"

    @property
    def terms(self) -> TransferAuthorization:
        """The transfer as the payer signs it. Not for Solana, where the payer signs a whole transaction."""
        token = self.token.contract_address
        return TransferAuthorization(
            domain=TokenDomain(self.chain_id, token, self.domain_name, self.domain_version),
            payer=self.payer,
            recipient=self.recipient,
            amount=self.amount,
            valid_before=self.valid_before or 0,
            nonce=bytes(self.nonce),
        )

    @property
    def ends_at(self) -> datetime | None:
        """When the signature expires, by the chain's clock. None on Solana, where it expires at a block height."""
        return None if self.valid_before is None else datetime.fromtimestamp(self.valid_before, UTC)

    @property
    def is_live(self) -> bool:
        """Whether the authorization is signed and can still move money."""
        return self.signed_at is not None and self.ended_at is None


def live_authorization(payment: Payment) -> Authorization | None:
    """Return the payment's authorization if it can still move money, else None."""
    if payment.bound_by != Payment.BoundBy.AUTHORIZATION and not payment.is_sponsored:
        return None
    authorization: Authorization | None = getattr(payment, "authorization", None)
    return authorization if authorization is not None and authorization.is_live else None


class GasAccount(models.Model):
    """An account of the operator that pays the gas of customers' payments on one chain.

    One worker at a time leases the row. That worker sends the account's transactions in the order of their
    nonces. `next_nonce` is null before the account's first transaction. `balance` was read at `looked_at`, in base
    units of the native coin. `next_look_at` is when the row is due; null if nothing waits to be sent or mined.
    """

    chain = models.ForeignKey(Chain, on_delete=models.CASCADE, related_name="+", db_index=False)
    address = models.CharField(max_length=64)
    next_nonce = models.BigIntegerField(null=True, blank=True)
    balance = BaseUnitsField(null=True, blank=True)
    looked_at = models.DateTimeField(null=True, blank=True)
    next_look_at = models.DateTimeField(null=True, blank=True)
    claim_id = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("chain", "address"), name="gas_account_is_one_for_each_chain"),
            base_units_constraint("balance", "gas_account"),
        )

    def __str__(self) -> str:
        return f"{self.address} on {self.chain_id}"


class Relay(models.Model):
    """One nonce of a gas account, with the transactions that were signed for it. At most one of them is mined.

    The row is stored before anything is sent, so that another worker can send the same bytes. A relay without an
    `authorization` only uses up its nonce. Solana has no nonces: there, a relay is one transaction.

    - `hashes`: the hashes of all signed transactions, the current one last.
    - `raw`, `unsigned`: the bytes (hex, on Solana base64) and the content of the current transaction.
    - `signed_at`, `sent_at`: when the current transaction was signed, and when it was last sent. If a deep
      reorganisation removes it, `signed_at` is the time at which a worker noticed.
    - `ended_at`: when the mined transaction had the depth that the chain requires. Null again if a deeper
      reorganisation removes the transaction.
    - `succeeded`, `fee`: the mined transaction's result and fee, in base units of the native coin. Null if someone
      else sent it with the account's key. A failure is stored before the block is deep. After a reorganisation,
      both stay until the transaction ends again.
    """

    account = models.ForeignKey(GasAccount, on_delete=models.PROTECT, related_name="relays", db_index=False)
    nonce = models.BigIntegerField(null=True, blank=True)
    authorization = models.ForeignKey(
        Authorization, on_delete=models.PROTECT, null=True, blank=True, related_name="relays"
    )
    hashes = ArrayField(models.CharField(max_length=88))
    raw = models.TextField()
    unsigned = models.JSONField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    signed_at = models.DateTimeField(default=timezone.now)
    sent_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    succeeded = models.BooleanField(null=True, blank=True)
    fee = BaseUnitsField(null=True, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("account", "nonce"), name="relay_is_one_for_each_nonce"),
            base_units_constraint("fee", "relay"),
        )
        indexes = (
            models.Index(
                fields=("account", "nonce"), condition=Q(ended_at__isnull=True), name="relay_under_way"
            ),
            # For `payments.stats.fees`.
            models.Index(fields=("ended_at",), condition=Q(ended_at__isnull=False), name="relay_ended"),
        )

    def __str__(self) -> str:
        return self.hashes[-1]
