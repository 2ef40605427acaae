"""The bodies of calls to the checkout's endpoints."""

from typing import Any

from rest_framework import serializers

from chains.api.serializers import AddressField
from config.api.errors import ErrorCode
from config.api.schema.operations import described
from config.api.serializers import (
    OneOfField,
    StrictSerializer,
    TextField,
    TrueOrFalseField,
    WholeNumberField,
    invalid,
    kind_of,
)

MAX_CHAINS = 100

_WALLET = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
_ROUTE_ID = "rt_3kYtq8WmZc5DvXn7RbLp2HsG"


@described(
    "RoutesOrder",
    "The wallet and the token to pay with. Set either `token_id` or `token_address`.",
    {"wallet_address": _WALLET, "chain_id": 8453, "token_id": 2},
)
class RoutesSerializer(StrictSerializer):
    wallet_address = AddressField(help_text="The paying wallet.")
    chain_id = WholeNumberField(help_text="The chain to pay on.")
    token_id = WholeNumberField(
        required=False,
        allow_null=True,
        help_text="The `id` of the token to pay with.",
    )
    token_address = AddressField(
        required=False,
        allow_null=True,
        allow_blank=True,
        help_text=(
            "The contract or mint of the token to pay with; empty for native coin. Tokens outside the catalogue are "
            "allowed if a routing provider lists them."
        ),
    )
    allow_parallel = TrueOrFalseField(
        default=False,
        allow_null=True,
        help_text="Whether to return routes although a payment in progress already covers the remaining amount.",
    )

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        """Require exactly one of `token_id` and `token_address`. Null counts as missing."""
        return _exactly_one(attrs, "token_id", "token_address")


class ChainIdsField(serializers.ListField):
    def __init__(self, **options: Any) -> None:
        super().__init__(child=WholeNumberField(), allow_empty=False, max_length=MAX_CHAINS, **options)

    def to_internal_value(self, data: Any) -> list[int]:
        """Return the ids. Report an error of the list, or of each invalid item."""
        if not isinstance(data, list):
            raise invalid(f"This should be an array of chain ids; got {kind_of(data)}.")
        if not 0 < len(data) <= MAX_CHAINS:
            raise invalid(
                f"This should contain 1 to {MAX_CHAINS} chain ids; got {len(data)}. Omit it for all chains."
            )
        return list(super().to_internal_value(data))


@described(
    "WalletQuestion", "A wallet, and the chains to query.", {"wallet_address": _WALLET, "chain_ids": [8453]}
)
class WalletSerializer(StrictSerializer):
    wallet_address = AddressField(help_text="The wallet. Only chains of its family are queried.")
    chain_ids = ChainIdsField(
        required=False,
        allow_null=True,
        help_text="The chains to query. Default: all active chains of the wallet's family.",
    )


@described("ApprovalQuestion", "The route whose approval to check.", {"route_id": _ROUTE_ID})
class CheckApprovalSerializer(StrictSerializer):
    """The body of POST /api/public/check-approval."""

    route_id = TextField(max_length=64, help_text="The route's `id`.")


@described("BuildOrder", "The route whose transaction to build.", {"route_id": _ROUTE_ID})
class BuildTransactionSerializer(StrictSerializer):
    """The body of POST /api/public/build-transaction."""

    route_id = TextField(max_length=64, help_text="The route's `id`.")
    binding = OneOfField(
        choices=("reference", "payer"),
        required=False,
        allow_null=True,
        help_text=(
            "How to bind the transaction to the request. `reference` writes the request's reference into the "
            "transaction. `payer` needs the wallet's signature (`payer-proof`). Default: `reference` if the "
            "transaction can contain one. Leave this field out for a `swap` route: the provider's id binds it."
        ),
    )
    batch = TrueOrFalseField(
        default=False,
        allow_null=True,
        help_text=(
            "Whether the wallet sends the approvals and the transaction in one atomic batch (`wallet_sendCalls` of "
            "EIP-5792). The approvals come from `check-approval`. Only for a `swap` route on EVM."
        ),
    )
    allow_parallel = TrueOrFalseField(
        default=False,
        allow_null=True,
        help_text=(
            "Whether to build the transaction although a payment in progress already covers the remaining amount."
        ),
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
        max_length=200,
        code=ErrorCode.TRANSACTION_HASH_INVALID,
        help_text="The hash that the wallet returned.",
    )
    chain_id = WholeNumberField(help_text="The chain that the transaction was sent on.")
    route_id = TextField(
        max_length=64,
        required=False,
        allow_null=True,
        allow_blank=True,
        help_text=(
            "The route that the transaction was built for. The id is only a hint: the transaction is verified on "
            "the chain."
        ),
    )


@described(
    "SignedAuthorization",
    "The signature for a sponsored route. On EVM, set `signature`; on Solana, set `transaction`.",
    {"route_id": _ROUTE_ID, "signature": "0x" + "1b" * 65},
)
class AuthorizationSerializer(StrictSerializer):
    """The body of POST …/authorizations: a transfer that the payer signed and that the operator will send."""

    route_id = TextField(max_length=64, help_text="The `id` of the sponsored route.")
    signature = TextField(
        max_length=10_000,
        required=False,
        allow_null=True,
        code=ErrorCode.SIGNATURE_INVALID,
        help_text=(
            "The signature of the route's `typed_data`, in hex: 65 bytes, or 64 in the compact form of EIP-2098. A "
            "contract account's signature (EIP-1271) is rejected."
        ),
    )
    transaction = TextField(
        max_length=10_000,
        required=False,
        allow_null=True,
        code=ErrorCode.SIGNATURE_INVALID,
        help_text="The signed transaction in base64, as the wallet's `signTransaction` returned it. Only on Solana.",
    )

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        """Require exactly one of `signature` and `transaction`. Null counts as missing."""
        return _exactly_one(attrs, "signature", "transaction")


@described(
    "TransferSender",
    "The wallet that sent the payment's transfer.",
    {"wallet_address": _WALLET},
)
class ProofMessageSerializer(StrictSerializer):
    """The body of POST …/payments/{payment_id}/proof-message."""

    wallet_address = AddressField(help_text="The wallet that sent the transfer.")


@described(
    "SignedProof",
    "The wallet's signature of the message that `build-transaction` or `proof-message` returned. Set either "
    "`route_id` or `payment_id`.",
    {"route_id": _ROUTE_ID, "wallet_address": _WALLET, "signature": "0x" + "1b" * 65},
)
class PayerProofSerializer(StrictSerializer):
    """The body of POST …/payer-proof: the payer's signature. The signed message is about a route or a sent transfer."""

    route_id = TextField(
        max_length=64,
        required=False,
        allow_null=True,
        help_text="The `id` of the route, if the transfer is not sent yet.",
    )
    payment_id = TextField(
        max_length=64,
        required=False,
        allow_null=True,
        help_text="The `id` of the payment, if the transfer is already sent.",
    )
    wallet_address = AddressField(
        help_text="The wallet that signed the message. The same wallet sends or sent the transfer."
    )
    signature = TextField(
        max_length=10_000,
        code=ErrorCode.SIGNATURE_INVALID,
        help_text=(
            "The signature of the message. On EVM, it is in hex, from `personal_sign` or from a contract account "
            "(EIP-1271). On Solana, it is in base58."
        ),
    )

    def validate(self, attrs: dict[str, object]) -> dict[str, object]:
        """Require exactly one of `route_id` and `payment_id`. Null counts as missing."""
        return _exactly_one(attrs, "route_id", "payment_id")


def _exactly_one(attrs: dict[str, object], first: str, second: str) -> dict[str, object]:
    """Return the parameters that are not null. Raises ValidationError unless exactly one of the two is among them."""
    attrs = {name: value for name, value in attrs.items() if value is not None}
    if (first in attrs) == (second in attrs):
        code = "parameter_invalid" if first in attrs else "parameter_missing"
        message = f"Set either {first} or {second}, not both."
        raise serializers.ValidationError({first: serializers.ErrorDetail(message, code)})
    return attrs
