"""What the checkout's endpoints take (contract 8)."""

from rest_framework import serializers

from chains.serializers import AddressField
from config.api.errors import ErrorCode
from config.api.serializers import OneOfField, StrictSerializer, TextField, TrueOrFalseField, WholeNumberField


class RoutesSerializer(StrictSerializer):
    """The body of POST …/routes: which wallet would pay with which token."""

    wallet_address = AddressField()
    chain_id = WholeNumberField()
    token_id = WholeNumberField(required=False, allow_null=True)
    token_address = AddressField(required=False, allow_null=True, allow_blank=True)
    allow_parallel = TrueOrFalseField(default=False, allow_null=True)

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        """Demand exactly one way of naming the token; null is as good as left out."""
        attrs = {name: value for name, value in attrs.items() if value is not None}
        if ("token_id" in attrs) == ("token_address" in attrs):
            code = "parameter_invalid" if "token_id" in attrs else "parameter_missing"
            message = "Name the token by token_id or by token_address, and not by both."
            raise serializers.ValidationError({"token_id": serializers.ErrorDetail(message, code)})
        return attrs


class BuildTransactionSerializer(StrictSerializer):
    """The body of POST /api/public/build-transaction."""

    route_id = TextField(max_length=64)
    binding = OneOfField(choices=("reference", "payer"), required=False, allow_null=True)
    allow_parallel = TrueOrFalseField(default=False, allow_null=True)


class SubmitPaymentSerializer(StrictSerializer):
    """The body of POST …/payments: the hash that the wallet returned."""

    transaction_hash = TextField(max_length=200, code=ErrorCode.TRANSACTION_HASH_INVALID)
    chain_id = WholeNumberField()
    route_id = TextField(max_length=64, required=False, allow_null=True, allow_blank=True)


class PayerProofSerializer(StrictSerializer):
    """The body of POST …/payer-proof: the wallet's signature under the message that build-transaction gave."""

    route_id = TextField(max_length=64)
    wallet_address = AddressField()
    signature = TextField(max_length=10_000, code=ErrorCode.SIGNATURE_INVALID)
