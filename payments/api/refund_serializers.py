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
from payments.api.serializers import AnyJSONField, require_payable_recipient
from payments.deposits.recipients import recipient_address, require_no_deposit_address
from payments.models import PaymentRequest


@described("NewRefund", "The amount and the wallet of a refund.", examples.NEW_REFUND)
class CreateRefundSerializer(StrictSerializer):
    """The body of POST …/refunds. `context["request"]` is the payment request.

    If `context["queries_nodes"]` is False, no node is queried for the address. Set it while the request is locked.
    """

    amount = AnyJSONField(
        required=False,
        allow_null=True,
        help_text=(
            "The amount in whole tokens. Default: the refundable amount, which is the received amount without "
            "reorganised payments, less the completed and open refunds."
        ),
    )
    recipient_address = AddressField(
        required=False,
        allow_null=True,
        help_text=(
            "The customer's wallet on the request's chain. The rules are those of a payment request's "
            "`recipient_address`. Don't use the payment's sender, which can be an exchange. Default: the customer "
            "sets an address on `claim_url` and signs for it with the wallet that paid."
        ),
    )
    payment_id = TextField(
        max_length=64,
        required=False,
        allow_null=True,
        help_text=(
            "The completed payment to refund. The refund can't exceed the amount of this payment. "
            "Required if several wallets paid and you send no `recipient_address`."
        ),
    )
    reason = TextField(
        max_length=500,
        required=False,
        allow_null=True,
        allow_blank=True,
        help_text="Your reason. The customer doesn't see it.",
    )

    def validate(self, attrs: Mapping[str, Any]) -> dict[str, Any]:
        """Parse the amount and the address. If both are invalid, report both."""
        request: PaymentRequest = self.context["request"]
        values, problems = dict(attrs), {}
        if values.get("amount") is not None:
            try:
                values["amount"] = parse_amount(values["amount"], request.token)
            except AmountError as error:
                problems["amount"] = _detail(error.code, error)
        if values.get("recipient_address") is not None:
            try:
                check = _payable if self.context.get("queries_nodes", True) else refund_recipient
                values["recipient_address"] = check(request, values["recipient_address"])
            except AddressError as error:
                problems["recipient_address"] = _detail(ErrorCode.ADDRESS_INVALID, error)
        if problems:
            raise serializers.ValidationError(problems)
        return values


@described(
    "RefundAddress", "The address of a refund.", {"recipient_address": examples.REFUND["recipient_address"]}
)
class RefundAddressSerializer(StrictSerializer):
    recipient_address = AddressField(
        help_text=(
            "The customer's wallet on the refund's chain. The rules are those of a new refund's `recipient_address`."
        )
    )

    def address_for(self, request: PaymentRequest) -> str:
        """Return the refund's canonical address. Raises ApiError."""
        try:
            return _payable(request, self.validated_data["recipient_address"])
        except AddressError as error:
            raise ApiError(ErrorCode.ADDRESS_INVALID, str(error), "recipient_address") from error


@described("RefundBuild", "The wallet that will sign.", {"wallet_address": examples.SHOP})
class BuildRefundSerializer(StrictSerializer):
    wallet_address = AddressField(help_text="The wallet that you send the refund from.")

    def wallet_of(self, request: PaymentRequest) -> str:
        """Return the wallet in the canonical form of the request's chain. Raises ApiError."""
        try:
            return request.chain.family.normalise_address(self.validated_data["wallet_address"])
        except AddressError as error:
            raise ApiError(ErrorCode.ADDRESS_INVALID, str(error), "wallet_address") from error


@described(
    "RefundSubmission",
    "The transaction of a refund.",
    {"transaction_hash": examples.PAYMENT["transaction_hash"]},
)
class SubmitRefundSerializer(StrictSerializer):
    transaction_hash = TextField(
        max_length=200,
        code=ErrorCode.TRANSACTION_HASH_INVALID,
        help_text="The hash of the refund's transaction.",
    )

    def hash_on(self, request: PaymentRequest) -> str:
        """Return the hash in the canonical form of the request's chain. Raises ApiError."""
        try:
            return request.chain.family.normalise_transaction_hash(self.validated_data["transaction_hash"])
        except HashError as error:
            raise ApiError(ErrorCode.TRANSACTION_HASH_INVALID, str(error), "transaction_hash") from error


def refund_recipient(request: PaymentRequest, text: str) -> str:
    """Return the refund's canonical address. Queries no node; `require_payable_recipient` does.

    Raises AddressError if the address received the payment, is a deposit address, or would lose the funds.
    """
    address = recipient_address(request.chain, text)
    require_no_deposit_address(address)
    if address == request.recipient_address:
        raise AddressError("This is the wallet that received the payment. Send the refund to another wallet.")
    return address


def _payable(request: PaymentRequest, text: str) -> str:
    address = refund_recipient(request, text)
    require_payable_recipient(request.chain, address)
    return address


def _detail(code: ErrorCode, error: Exception) -> list[serializers.ErrorDetail]:
    return [serializers.ErrorDetail(str(error), code.value)]
