"""Transactions, approvals and proofs in the API's responses. Wallets sign them."""

from typing import Annotated, Any

from msgspec import Meta

from chains import families
from chains.api.objects import AmountObject
from checkout.api.route_examples import EXPIRES, ROUTE_ID, SIDE
from checkout.api.route_objects import RouteToken
from config.api.answers import Answer, Choices, Time, doc, one_of
from config.api.schema.operations import described
from config.api.serializers import required_timestamp
from payments.models import Route
from payments.routes.answers import Built

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
            "description": "The token's contract; for native coin, the merchant's wallet; for a swap, the router.",
        },
        "data": {
            "type": "string",
            "pattern": "^0x([0-9a-f]{2})*$",
            "description": "The call data, including the reference if there is one.",
        },
        "value": _quantity("The amount of native coin, in wei."),
        "gas": _quantity("The gas limit."),
        "maxFeePerGas": _quantity("The maximum price per unit of gas, in wei."),
        "maxPriorityFeePerGas": _quantity("The priority fee per unit of gas, in wei."),
    },
    "required": [*_TRANSACTION],
}
_SOLANA_TRANSACTION = {
    "type": "string",
    "contentEncoding": "base64",
    "description": "On Solana: a versioned transaction in base64 for the wallet to sign.",
}


@described(
    "PayerProofOrder",
    "The message that the wallet must sign so that its transaction is bound to the request.",
    {
        "message": "shop.example.com wants you to sign in with your Ethereum account: …",
        "expires_at": EXPIRES,
    },
)
class PayerProofOrder(Answer, kw_only=True):
    """The field `payer_proof` of a built transaction."""

    message: Annotated[str, doc("The message to sign, byte for byte.")]
    expires_at: Annotated[Time, doc("The deadline for the proof.")]


@described(
    "BuiltTransaction",
    "A simulated, unsigned transaction, and its binding to the request.",
    {
        "route_id": ROUTE_ID,
        "chain_type": "evm",
        "transaction": _TRANSACTION,
        "binding": "reference",
        "payer_proof": None,
        "typed_data": None,
        "expires_at": EXPIRES,
    },
)
class BuiltTransaction(Answer, kw_only=True):
    route_id: Annotated[str, doc("The route.")]
    chain_type: Annotated[
        str,
        Choices(families.choices()),
        doc("The chain family, which decides the format of `transaction`."),
    ]
    transaction: Annotated[
        Any,
        doc(
            "The unsigned transaction. On a sponsored route of an EVM chain, it is null. On a sponsored route of "
            "Solana, the wallet signs it but doesn't send it: send the signed transaction to `authorizations`, and "
            "the operator's account pays the fee.",
            extra_json_schema={"oneOf": [_EVM_TRANSACTION, _SOLANA_TRANSACTION, {"type": "null"}]},
        ),
    ]
    binding: Annotated[
        str,
        one_of("reference", "payer", "provider", "authorization"),
        doc(
            "`reference`: the transaction contains the request's reference. `payer`: the wallet must also sign "
            "`payer_proof`. `provider`: the transaction contains the routing provider's id of this route. "
            "`authorization`: the wallet signs `typed_data`, and sends nothing."
        ),
    ]
    payer_proof: Annotated[
        PayerProofOrder | None,
        doc("The message that the wallet must sign; null if the transaction itself is bound."),
    ]
    typed_data: Annotated[
        dict[str, Any] | None,
        doc(
            "The transfer to sign with `eth_signTypedData_v4` (EIP-712, EIP-3009), on a sponsored route of an EVM "
            "chain; null on other routes. Send the signature to `authorizations`."
        ),
    ]
    expires_at: Annotated[Time, doc("The time at which the route expires.")]

    @classmethod
    def of(cls, route: Route, built: Built) -> "BuiltTransaction":
        expires_at = required_timestamp(route.expires_at)
        message = built.proof_message
        return cls(
            route_id=route.id,
            chain_type=route.chain.chain_type,
            transaction=built.transaction,
            binding=built.binding,
            payer_proof=PayerProofOrder(message=message, expires_at=expires_at) if message else None,
            typed_data=built.typed_data,
            expires_at=expires_at,
        )


@described(
    "TransferProofOrder",
    "A message for the sender of a transfer. Once the sender signs it, the transfer counts for the request.",
    {
        "message": "shop.example.com wants you to sign in with your Ethereum account: …",
        "expires_at": EXPIRES,
    },
)
class TransferProofOrder(Answer, kw_only=True):
    message: Annotated[str, doc("The message to sign, byte for byte.")]
    expires_at: Annotated[Time, doc("The deadline for the signature, 10 minutes after the message was made.")]


@described(
    "PayerProof",
    "A verified payer proof.",
    {
        "route_id": ROUTE_ID,
        "payment_id": None,
        "wallet_address": "0x8ba1f109551bD432803012645Ac136ddd64DBA72",
        "verified_at": "2026-11-21T10:06:30.000000Z",
    },
)
class PayerProofObject(Answer, kw_only=True):
    route_id: Annotated[str | None, doc("The `id` of the route; null for a transfer that was already sent.")]
    payment_id: Annotated[
        str | None,
        doc(
            "The `id` of the payment, if the transfer was already sent; else null. If the proof was in time, the "
            "payment's `bound_by` is `payer`."
        ),
    ]
    wallet_address: Annotated[str, doc("The wallet, in its chain's canonical form.")]
    verified_at: Annotated[Time, doc("The time at which the signature was verified.")]


@described(
    "Approval",
    "A route's current token approval, and the unsigned transactions that approve the required amount.",
    {
        "approval_required": True,
        "spender": "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE",
        "token": SIDE["token"],
        "allowance": {"raw": "0", "formatted": "0.000000000000000000", "decimals": 18},
        "required": SIDE["amount"],
        "transactions": [{**_TRANSACTION, "to": SIDE["token"]["contract_address"], "data": "0x095ea7b3"}],
    },
)
class ApprovalObject(Answer, kw_only=True):
    approval_required: Annotated[
        bool,
        doc("Whether `transactions` must be mined before the wallet sends the route's transaction."),
    ]
    spender: Annotated[
        str | None,
        doc(
            "The contract that spends the token. This deployment trusts it. Null if the route needs no "
            "approval."
        ),
    ]
    token: Annotated[RouteToken, doc("The token that the customer pays with.")]
    allowance: Annotated[AmountObject, doc("The amount that the spender is currently allowed to spend.")]
    required: Annotated[
        AmountObject,
        doc("The amount that the spender must be allowed to spend; zero if no approval is required."),
    ]
    transactions: Annotated[
        list[Annotated[Any, Meta(extra_json_schema=_EVM_TRANSACTION)]],
        doc(
            "The unsigned transactions, in the order to send them; empty if no approval is required. There are two if "
            "the allowance must be reset to zero first. They approve the exact amount of the route."
        ),
    ]
