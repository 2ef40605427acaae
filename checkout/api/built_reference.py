"""What the API's reference says of what wallets are given to sign (contract 8): transactions, approvals and proofs."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from chains import families
from chains.serializers import AmountSerializer
from checkout.api.reference import text
from checkout.api.route_reference import EXPIRES, ROUTE_ID, SIDE, RouteTokenSerializer
from config.api.schema.operations import described
from config.api.serializers import TimestampField

_QUANTITY = r"^0x(0|[1-9a-f][0-9a-f]*)$"
_TRANSACTION: dict[str, Any] = {
    "chainId": "0x2105",
    "from": "0x8ba1f109551bD432803012645Ac136ddd64DBA72",
    "to": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    "data": "0xa9059cbb",
    "value": "0x0",
    "gas": "0x11170",
    "maxFeePerGas": "0x59682f00",
    "maxPriorityFeePerGas": "0xf4240",
}


def _quantity(text: str) -> dict[str, Any]:
    return {"type": "string", "pattern": _QUANTITY, "description": text}


_EVM_TRANSACTION = {
    "type": "object",
    "description": "On EVM: ready for `eth_sendTransaction`, numbers as hex quantities.",
    "properties": {
        "chainId": _quantity("The chain."),
        "from": {"type": "string", "description": "The wallet that signs."},
        "to": {
            "type": "string",
            "description": "The token's contract; for native coin the merchant's wallet; for a swap the router.",
        },
        "data": {
            "type": "string",
            "pattern": "^0x([0-9a-f]{2})*$",
            "description": "The call, with what binds it.",
        },
        "value": _quantity("Native coin, in wei."),
        "gas": _quantity("The limit of gas."),
        "maxFeePerGas": _quantity("The most that a unit of gas may cost, in wei."),
        "maxPriorityFeePerGas": _quantity("What of it goes to the block's builder, in wei."),
    },
    "required": [*_TRANSACTION],
}
_SOLANA_TRANSACTION = {
    "type": "string",
    "contentEncoding": "base64",
    "description": "On Solana: a versioned transaction in base64, to be signed by the wallet.",
}


@extend_schema_field(_EVM_TRANSACTION)
class _EvmTransactionField(serializers.ReadOnlyField):
    pass


@extend_schema_field({"oneOf": [_EVM_TRANSACTION, _SOLANA_TRANSACTION]})
class _TransactionField(serializers.ReadOnlyField):
    pass


@described(
    "PayerProofOrder",
    "What the wallet is to sign, so that its transaction counts.",
    {
        "message": "shop.example.com wants you to sign in with your Ethereum account: …",
        "expires_at": EXPIRES,
    },
)
class PayerProofOrderSerializer(serializers.Serializer[Any]):
    """`payer_proof` of a built transaction."""

    message = text("The message to sign, byte for byte.")
    expires_at = TimestampField(help_text="Until when the proof is taken.")


@described(
    "BuiltTransaction",
    "An unsigned transaction, simulated first, and what binds it to the request.",
    {
        "route_id": ROUTE_ID,
        "chain_type": "evm",
        "transaction": _TRANSACTION,
        "binding": "reference",
        "payer_proof": None,
        "expires_at": EXPIRES,
    },
)
class BuiltTransactionSerializer(serializers.Serializer[Any]):
    """The answer of POST /api/public/build-transaction."""

    route_id = text("The route.")
    chain_type = serializers.ChoiceField(
        families.choices(), read_only=True, help_text="How to read `transaction`."
    )
    transaction = _TransactionField(help_text="The unsigned transaction.")
    binding = serializers.ChoiceField(
        ("reference", "payer", "provider"),
        read_only=True,
        help_text=(
            "`reference`: the transaction carries it. `payer`: sign `payer_proof` as well. `provider`: the transaction "
            "carries the routing provider's id of this very route."
        ),
    )
    payer_proof = PayerProofOrderSerializer(
        read_only=True,
        allow_null=True,
        help_text="What to sign; null where the transaction itself is bound.",
    )
    expires_at = TimestampField(help_text="Until when the route is valid.")


@described(
    "PayerProof",
    "A wallet that proved that it pays.",
    {
        "route_id": ROUTE_ID,
        "wallet_address": "0x8ba1f109551bD432803012645Ac136ddd64DBA72",
        "verified_at": "2026-11-21T10:06:30.000000Z",
    },
)
class PayerProofAnswerSerializer(serializers.Serializer[Any]):
    """The answer of POST …/payer-proof."""

    route_id = text("The route.")
    wallet_address = text("The wallet, in its chain's canonical form.")
    verified_at = TimestampField(help_text="When the signature was verified.")


@described(
    "Approval",
    "What a route's router may take of the token, and the unsigned transactions that let it take enough.",
    {
        "approval_required": True,
        "spender": "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE",
        "token": SIDE["token"],
        "allowance": {"raw": "0", "formatted": "0.000000000000000000", "decimals": 18},
        "required": SIDE["amount"],
        "transactions": [{**_TRANSACTION, "to": SIDE["token"]["contract_address"], "data": "0x095ea7b3"}],
    },
)
class ApprovalSerializer(serializers.Serializer[Any]):
    """The answer of POST /api/public/check-approval."""

    approval_required = serializers.BooleanField(
        read_only=True, help_text="Whether `transactions` have to be sent, and mined, before the route's own."
    )
    spender = text(
        "Who takes the token: a contract that this deployment pins; null where nobody does.", allow_null=True
    )
    token = RouteTokenSerializer(read_only=True, help_text="The token that is paid with.")
    allowance = AmountSerializer(read_only=True, help_text="How much of it the spender may take now.")
    transactions = serializers.ListField(
        child=_EvmTransactionField(),
        read_only=True,
        help_text=(
            "Unsigned, to be sent in this order; empty where nothing is required. Two where the token has to be reset "
            "to zero first. The amount is exact, never unlimited."
        ),
    )

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Add `required`, which fields keep for themselves."""
        needed = AmountSerializer(
            read_only=True, help_text="How much it needs; zero where nobody needs leave."
        )
        return {**super().get_fields(), "required": needed}
