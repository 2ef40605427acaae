"""What the checkout's endpoints take (contract 8)."""

from rest_framework import serializers

from chains.serializers import AddressField
from config.api.errors import ErrorCode
from config.api.schema import described
from config.api.serializers import OneOfField, StrictSerializer, TextField, TrueOrFalseField, WholeNumberField

_WALLET = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
_ROUTE_ID = "rt_3kYtq8WmZc5DvXn7RbLp2HsG"


@described(
    "RoutesOrder",
    "Which wallet would pay with which token: named by `token_id` or by `token_address`, not by both.",
    {"wallet_address": _WALLET, "chain_id": 8453, "token_id": 2},
)
class RoutesSerializer(StrictSerializer):
    """The body of POST …/routes: which wallet would pay with which token."""

    wallet_address = AddressField(help_text="The wallet that would pay.")
    chain_id = WholeNumberField(help_text="The chain that it would pay on.")
    token_id = WholeNumberField(
        required=False,
        allow_null=True,
        help_text="The token that it would pay with: its `id` in the catalogue.",
    )
    token_address = AddressField(
        required=False,
        allow_null=True,
        allow_blank=True,
        help_text="The same token by its contract or mint; empty for the chain's own coin.",
    )
    allow_parallel = TrueOrFalseField(
        default=False,
        allow_null=True,
        help_text="True offers routes even while a payment that would cover the rest is under way.",
    )

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        """Demand exactly one way of naming the token; null is as good as left out."""
        attrs = {name: value for name, value in attrs.items() if value is not None}
        if ("token_id" in attrs) == ("token_address" in attrs):
            code = "parameter_invalid" if "token_id" in attrs else "parameter_missing"
            message = "Name the token by token_id or by token_address, and not by both."
            raise serializers.ValidationError({"token_id": serializers.ErrorDetail(message, code)})
        return attrs


@described("BuildOrder", "Which route's transaction to build.", {"route_id": _ROUTE_ID})
class BuildTransactionSerializer(StrictSerializer):
    """The body of POST /api/public/build-transaction."""

    route_id = TextField(max_length=64, help_text="The route's `id`.")
    binding = OneOfField(
        choices=("reference", "payer"),
        required=False,
        allow_null=True,
        help_text="What is to bind it; if left out, the reference where the transaction can carry one.",
    )
    allow_parallel = TrueOrFalseField(
        default=False,
        allow_null=True,
        help_text="True builds it even while a payment that would cover the rest is under way.",
    )


@described(
    "SubmittedTransaction",
    "The transaction that the wallet sent.",
    {
        "transaction_hash": "0x1674e0fa8c5ef411b67eeea593c73d514b2bda129634cbf60a4dc2a9bcb3427f",
        "chain_id": 8453,
        "route_id": _ROUTE_ID,
    },
)
class SubmitPaymentSerializer(StrictSerializer):
    """The body of POST …/payments: the hash that the wallet returned."""

    transaction_hash = TextField(
        max_length=200, code=ErrorCode.TRANSACTION_HASH_INVALID, help_text="What the wallet returned."
    )
    chain_id = WholeNumberField(help_text="The chain that it was sent on.")
    route_id = TextField(
        max_length=64,
        required=False,
        allow_null=True,
        allow_blank=True,
        help_text="The route that it was built for: a hint, what counts is on the chain.",
    )


@described(
    "SignedProof",
    "The wallet's signature under the message that `build-transaction` gave.",
    {"route_id": _ROUTE_ID, "wallet_address": _WALLET, "signature": "0x" + "1b" * 65},
)
class PayerProofSerializer(StrictSerializer):
    """The body of POST …/payer-proof: the wallet's signature under the message that build-transaction gave."""

    route_id = TextField(max_length=64, help_text="The route's `id`.")
    wallet_address = AddressField(help_text="The wallet that signed, and will pay.")
    signature = TextField(
        max_length=10_000,
        code=ErrorCode.SIGNATURE_INVALID,
        help_text="On EVM hex of `personal_sign`, or what EIP-1271 takes; on Solana base58.",
    )
