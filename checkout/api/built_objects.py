"""What wallets are given to sign, in the API's responses: transactions, approvals and proofs."""

from typing import Annotated, Any

from msgspec import Meta

from chains import families
from chains.api.objects import AmountObject
from checkout.api.route_examples import EXPIRES, ROUTE_ID, SIDE
from checkout.api.route_objects import RouteToken
from config.api.answers import Answer, Choices, Time, doc, one_of
from config.api.schema.operations import described

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


@described(
    "PayerProofOrder",
    "What the wallet has to sign, so that its transaction counts.",
    {
        "message": "shop.example.com wants you to sign in with your Ethereum account: …",
        "expires_at": EXPIRES,
    },
)
class PayerProofOrder(Answer, kw_only=True):
    """`payer_proof` of a built transaction."""

    message: Annotated[str, doc("The message to sign, byte for byte.")]
    expires_at: Annotated[Time, doc("Until when the proof is accepted.")]


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
class BuiltTransaction(Answer, kw_only=True):
    """A route's transaction."""

    route_id: Annotated[str, doc("The route.")]
    chain_type: Annotated[str, Choices(families.choices()), doc("How to read `transaction`.")]
    transaction: Annotated[
        Any,
        doc(
            "The unsigned transaction.",
            extra_json_schema={"oneOf": [_EVM_TRANSACTION, _SOLANA_TRANSACTION]},
        ),
    ]
    binding: Annotated[
        str,
        one_of("reference", "payer", "provider"),
        doc(
            "`reference`: the transaction carries it. `payer`: sign `payer_proof` as well. `provider`: the "
            "transaction carries the routing provider's id of this very route."
        ),
    ]
    payer_proof: Annotated[
        PayerProofOrder | None, doc("What to sign; null where the transaction itself is bound.")
    ]
    expires_at: Annotated[Time, doc("Until when the route is valid.")]


@described(
    "PayerProof",
    "A wallet that proved that it pays.",
    {
        "route_id": ROUTE_ID,
        "wallet_address": "0x8ba1f109551bD432803012645Ac136ddd64DBA72",
        "verified_at": "2026-11-21T10:06:30.000000Z",
    },
)
class PayerProofObject(Answer, kw_only=True):
    """A verified proof."""

    route_id: Annotated[str, doc("The route.")]
    wallet_address: Annotated[str, doc("The wallet, in its chain's canonical form.")]
    verified_at: Annotated[Time, doc("When the signature was verified.")]


@described(
    "Approval",
    "What a route's router may spend of the token, and the unsigned transactions that let it spend enough.",
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
    """What a route's wallet still has to approve."""

    approval_required: Annotated[
        bool, doc("Whether `transactions` have to be sent, and mined, before the route's own.")
    ]
    spender: Annotated[
        str | None,
        doc("The contract that spends the token, one that this deployment pins; null where there is none."),
    ]
    token: Annotated[RouteToken, doc("The token that is paid with.")]
    allowance: Annotated[AmountObject, doc("How much of it the spender may spend now.")]
    required: Annotated[AmountObject, doc("How much it needs; zero where no approval is needed.")]
    transactions: Annotated[
        list[Annotated[Any, Meta(extra_json_schema=_EVM_TRANSACTION)]],
        doc(
            "Unsigned, to be sent in this order; empty where nothing is required. Two where the token has to be "
            "reset to zero first. The amount is exact, never unlimited."
        ),
    ]
