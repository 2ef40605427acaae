"""The API's objects for chains, tokens and amounts."""

from typing import Annotated

from chains import families
from chains.amounts import format_amount
from chains.models import Chain, Token
from config.api.answers import Answer, Choices, doc
from config.api.schema.operations import described


@described(
    "Chain",
    "A network on which you can request payments.",
    {"id": 8453, "name": "Base", "chain_type": "evm", "is_active": True},
)
class ChainObject(Answer, kw_only=True):
    id: Annotated[
        int, doc("The value to send as `chain_id`, a 64-bit integer. On EVM, it is the EVM chain id.")
    ]
    name: Annotated[str, doc("The display name.")]
    chain_type: Annotated[
        str,
        Choices(families.choices()),
        doc("The chain family. It determines the format of addresses and transactions."),
    ]
    is_active: Annotated[bool, doc("Always true: inactive chains are not listed.")]

    @classmethod
    def of(cls, chain: Chain) -> "ChainObject":
        return cls(id=chain.id, name=chain.name, chain_type=chain.chain_type, is_active=chain.is_active)


@described(
    "Token",
    "A token on one chain, or the chain's native coin.",
    {
        "id": 2,
        "symbol": "USDC",
        "name": "USD Coin",
        "decimals": 6,
        "contract_address": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    },
)
class TokenObject(Answer, kw_only=True):
    id: Annotated[int, doc("The value to send as `token_id`. A token's `id` differs between deployments.")]
    symbol: Annotated[str, doc("The symbol, for display only. Other tokens can have the same symbol.")]
    name: Annotated[str, doc("The display name.")]
    decimals: Annotated[int, doc("The number of fraction digits of an amount.")]
    contract_address: Annotated[
        str, doc("The token's contract on EVM, or its mint on Solana; empty for native coin.")
    ]

    @classmethod
    def of(cls, token: Token) -> "TokenObject":
        return cls(
            id=token.id,
            symbol=token.symbol,
            name=token.name,
            decimals=token.decimals,
            contract_address=token.contract_address,
        )


@described("Amount", "An amount of one token.", {"raw": "12500000", "formatted": "12.500000", "decimals": 6})
class AmountObject(Answer, kw_only=True):
    raw: Annotated[
        str,
        doc(
            "The amount in the token's smallest unit, as a decimal string. It can be as large as 2^256 − 1.",
            pattern=r"^[0-9]+$",
        ),
    ]
    formatted: Annotated[
        str,
        doc(
            "The amount in whole tokens, with exactly `decimals` fraction digits. Never rounded.",
            pattern=r"^[0-9]+(\.[0-9]+)?$",
        ),
    ]
    decimals: Annotated[int, doc("The number of fraction digits of the token.", ge=0)]

    @classmethod
    def of(cls, raw: int, decimals: int) -> "AmountObject":

        return cls(raw=str(raw), formatted=format_amount(raw, decimals), decimals=decimals)
