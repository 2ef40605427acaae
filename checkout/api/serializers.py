"""The bodies that the checkout's endpoints accept."""

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

MOST_CHAINS = 100

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
        help_text=(
            "The same token by its contract or mint; empty for the chain's own coin. By its address it may also be one "
            "that is not in the catalogue and that a routing provider lists."
        ),
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


class ChainIdsField(serializers.ListField):
    """The ids of some chains, each once or more often."""

    def __init__(self, **options: Any) -> None:
        super().__init__(child=WholeNumberField(), allow_empty=False, max_length=MOST_CHAINS, **options)

    def to_internal_value(self, data: Any) -> list[int]:
        """Return the ids, or say what is wrong with the list, or with each wrong member."""
        if not isinstance(data, list):
            raise invalid(f"This should be an array of chain ids; got {kind_of(data)}.")
        if not 0 < len(data) <= MOST_CHAINS:
            raise invalid(
                f"This should hold 1 to {MOST_CHAINS} chain ids; got {len(data)}. Leave it out for all chains."
            )
        return list(super().to_internal_value(data))


@described(
    "WalletQuestion", "A wallet, and the chains to look at.", {"wallet_address": _WALLET, "chain_ids": [8453]}
)
class WalletSerializer(StrictSerializer):
    """The body of POST …/balances/essential and of POST /api/public/discover-wallet-tokens."""

    wallet_address = AddressField(help_text="The wallet. It is looked up on chains of its own family alone.")
    chain_ids = ChainIdsField(
        required=False,
        allow_null=True,
        help_text="The chains to look at; if left out, all active ones that the wallet can be on.",
    )


@described("ApprovalQuestion", "Which route's approval to look at.", {"route_id": _ROUTE_ID})
class CheckApprovalSerializer(StrictSerializer):
    """The body of POST /api/public/check-approval."""

    route_id = TextField(max_length=64, help_text="The route's `id`.")


@described("BuildOrder", "Which route's transaction to build.", {"route_id": _ROUTE_ID})
class BuildTransactionSerializer(StrictSerializer):
    """The body of POST /api/public/build-transaction."""

    route_id = TextField(max_length=64, help_text="The route's `id`.")
    binding = OneOfField(
        choices=("reference", "payer"),
        required=False,
        allow_null=True,
        help_text=(
            "What is to bind it; if left out, the reference where the transaction can carry one. To be left out for a "
            "`swap` route, which its provider's own id binds."
        ),
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
