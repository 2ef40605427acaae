"""The bodies of the merchant's endpoints for refunds."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from chains.amounts import AmountError, parse_amount
from chains.api.serializers import AddressField
from chains.families import AddressError, HashError
from config.api.errors import ApiError, ErrorCode
from config.api.schema.operations import described
from config.api.serializers import StrictSerializer, TextField
from payments.api import examples
from payments.api.serializers import AnyJSONField, demand_payable_recipient, recipient
from payments.models import PaymentRequest


@described("NewRefund", "What goes back, and to which wallet.", examples.NEW_REFUND)
class CreateRefundSerializer(StrictSerializer):
    """The body of POST …/refunds. The context's `request` is the payment request."""

    amount = AnyJSONField(
        required=False,
        allow_null=True,
        help_text=(
            "A decimal string in human units of the requested token. If left out, all that can still be refunded: "
            "what was paid, less the refunds that are completed or open."
        ),
    )
    recipient_address = AddressField(
        required=False,
        allow_null=True,
        help_text=(
            "The customer's wallet on the request's chain, by the rules for a request's recipient. Never take the "
            "payment's sender for it: that may be an exchange. If left out, the customer names one on `claim_url`, and "
            "signs for it with the wallet that paid."
        ),
    )
    payment_id = TextField(
        max_length=64,
        required=False,
        allow_null=True,
        help_text=(
            "A completed payment of the request; the refund is then at most what it delivered. Required without "
            "`recipient_address` if several wallets paid."
        ),
    )
    reason = TextField(
        max_length=500,
        required=False,
        allow_null=True,
        allow_blank=True,
        help_text="Why; the customer does not see it.",
    )

    def validate(self, attrs: Mapping[str, Any]) -> dict[str, Any]:
        """Read the amount and the address for the request's token and chain; report both failures at once."""
        request: PaymentRequest = self.context["request"]
        values, problems = dict(attrs), {}
        if values.get("amount") is not None:
            try:
                values["amount"] = parse_amount(values["amount"], request.token)
            except AmountError as error:
                problems["amount"] = _detail(error.code, error)
        if values.get("recipient_address") is not None:
            try:
                address = recipient(request.chain, request.token, values["recipient_address"])
                demand_payable_recipient(request.chain, address)
                values["recipient_address"] = address
            except AddressError as error:
                problems["recipient_address"] = _detail(ErrorCode.ADDRESS_INVALID, error)
        if problems:
            raise serializers.ValidationError(problems)
        return values


@described("RefundBuild", "The wallet that will sign.", {"wallet_address": examples.SHOP})
class BuildRefundSerializer(StrictSerializer):
    """The body of POST …/build."""

    wallet_address = AddressField(help_text="Your wallet, which sends the refund.")

    def wallet_of(self, request: PaymentRequest) -> str:
        """Return the wallet in the canonical form of the request's chain. Raises ApiError."""
        try:
            return request.chain.family.normalise_address(self.validated_data["wallet_address"])
        except AddressError as error:
            raise ApiError(ErrorCode.ADDRESS_INVALID, str(error), "wallet_address") from error


@described(
    "RefundSubmission",
    "The transaction that you sent.",
    {"transaction_hash": examples.PAYMENT["transaction_hash"]},
)
class SubmitRefundSerializer(StrictSerializer):
    """The body of POST …/submit."""

    transaction_hash = TextField(
        max_length=200,
        code=ErrorCode.TRANSACTION_HASH_INVALID,
        help_text="The transaction, as its chain writes it.",
    )

    def hash_on(self, request: PaymentRequest) -> str:
        """Return the hash in the canonical form of the request's chain. Raises ApiError."""
        try:
            return request.chain.family.normalise_transaction_hash(self.validated_data["transaction_hash"])
        except HashError as error:
            raise ApiError(ErrorCode.TRANSACTION_HASH_INVALID, str(error), "transaction_hash") from error


def _detail(code: ErrorCode, error: Exception) -> list[serializers.ErrorDetail]:
    return [serializers.ErrorDetail(str(error), code.value)]
