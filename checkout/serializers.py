"""What the checkout's endpoints take (contract 8)."""

from rest_framework import serializers

from config.api.serializers import StrictSerializer, TextField, TrueOrFalseField, WholeNumberField


class RoutesSerializer(StrictSerializer):
    """The body of POST …/routes: which wallet would pay with which token."""

    wallet_address = TextField(max_length=100)
    chain_id = WholeNumberField()
    token_id = WholeNumberField(required=False)
    token_address = TextField(max_length=100, required=False, allow_blank=True)
    allow_parallel = TrueOrFalseField(default=False)

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        """Demand exactly one way of naming the token."""
        if ("token_id" in attrs) == ("token_address" in attrs):
            code = "parameter_invalid" if "token_id" in attrs else "parameter_missing"
            message = "Name the token by token_id or by token_address, and not by both."
            raise serializers.ValidationError({"token_id": serializers.ErrorDetail(message, code)})
        return attrs


class BuildTransactionSerializer(StrictSerializer):
    """The body of POST /api/public/build-transaction."""

    route_id = TextField(max_length=64)
    binding = serializers.ChoiceField(choices=("reference", "payer"), required=False, allow_null=True)
    allow_parallel = TrueOrFalseField(default=False)


class SubmitPaymentSerializer(StrictSerializer):
    """The body of POST …/payments: the hash that the wallet returned."""

    transaction_hash = TextField(max_length=200)
    chain_id = WholeNumberField()
    route_id = TextField(max_length=64, required=False, allow_null=True, allow_blank=True)


class PayerProofSerializer(StrictSerializer):
    """The body of POST …/payer-proof: the wallet's signature under the message that build-transaction gave."""

    route_id = TextField(max_length=64)
    wallet_address = TextField(max_length=100)
    signature = TextField(max_length=10_000)
