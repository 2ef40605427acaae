"""Relay's responses without faults, made here: quotes whose orders, calls and texts are consistent."""

import copy
from collections.abc import Mapping
from typing import Any

from eth_abi.abi import encode
from solders.pubkey import Pubkey

from chains.families.solana.accounts import SYSTEM
from payments.providers import reading
from payments.providers.base import Side, Wanted
from tests.support.routing.offers import (
    DEPOSITORY,
    HERE,
    MERCHANT,
    PAYER,
    SOLANA,
    THERE,
    USDC_HERE,
    USDC_ON_SOLANA,
    USDC_THERE,
    WANTED,
    WANTED_ON_SOLANA,
)
from tests.support.routing.relay_ids import order_id

API = "https://relay.example"
KEY = "a-key-that-is-only-in-a-header"
NOW = 1_800_000_000
REQUEST_ID = "0x" + "5c" * 32
AMOUNT_IN, AMOUNT_OUT = 10_050_000, 10_000_000
DEPOSITORY_ON_SOLANA = "99vQwtBwYtrqqD9YSXbdum3KBdxPAVxYTaQ3cfnJSrN2"
PAYER_ON_SOLANA = "7EaP2zkxDLo86x4rnNwwLhB593PsbMva41dqfrfxhsb1"
NAMES = {HERE: "arbitrum", THERE: "base", SOLANA: "solana"}
NUMBERS = {HERE: HERE, THERE: THERE, SOLANA: 792703809}

FROM_NATIVE = Wanted(Side(HERE, "", PAYER), Side(THERE, USDC_THERE, MERCHANT), AMOUNT_OUT)
FROM_SOLANA = Wanted(
    Side(SOLANA, USDC_ON_SOLANA, PAYER_ON_SOLANA), Side(THERE, USDC_THERE, MERCHANT), AMOUNT_OUT
)
TO_NATIVE = Wanted(Side(HERE, USDC_HERE, PAYER), Side(THERE, "", MERCHANT), AMOUNT_OUT)
WAYS = {
    "token to token": WANTED,
    "native coin to token": FROM_NATIVE,
    "token to native coin": TO_NATIVE,
    "EVM to Solana": WANTED_ON_SOLANA,
    "Solana to EVM": FROM_SOLANA,
}


def written(side: Side) -> str:
    """Return the side's token in Relay's notation."""
    return (
        (side.token or reading.native_coin(side.account)).lower() if side.account[:2] == "0x" else side.token
    )


def order_data(wanted: Wanted, amount_in: int = AMOUNT_IN) -> dict[str, Any]:
    """Return an order of the settlement protocol that pays `wanted` for `amount_in`."""
    refund = {"minimumAmount": "0", "deadline": NOW + 86_400, "extraData": "0x"}
    return {
        "version": "v1",
        "solverChainId": "base",
        "solver": "0xf70da97812cb96acdf810712aa562db8dfa3dbef",
        "salt": "0x" + "1d" * 32,
        "inputs": [
            {
                "payment": {
                    "chainId": NAMES[wanted.source.chain_id],
                    "currency": written(wanted.source),
                    "amount": str(amount_in),
                    "weight": "1",
                },
                "refunds": [
                    {
                        "chainId": NAMES[side.chain_id],
                        "recipient": side.account,
                        "currency": written(side),
                        **refund,
                    }
                    for side in (wanted.source, wanted.target)
                ],
            }
        ],
        "output": {
            "chainId": NAMES[wanted.target.chain_id],
            "payments": [
                {
                    "recipient": wanted.target.account,
                    "currency": written(wanted.target),
                    "minimumAmount": str(wanted.amount),
                    "expectedAmount": str(wanted.amount),
                }
            ],
            "calls": [],
            "deadline": NOW + 86_400,
            "extraData": "0x",
        },
        "fees": [],
    }


def quote(
    wanted: Wanted = WANTED, *, amount_in: int = AMOUNT_IN, order: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return Relay's response to a quote for `wanted`. `order` replaces the correct order."""
    data = copy.deepcopy(dict(order)) if order is not None else order_data(wanted, amount_in)
    id_ = order_id(data)
    source, target = wanted.source, wanted.target
    return {
        "requestId": REQUEST_ID,
        "steps": _steps(source, amount_in, id_),
        "fees": {
            "gas": _money(Side(source.chain_id, "", source.account), 4_000_000_000_000, "0.0114"),
            "relayerGas": _money(source, 20_000, "0.02"),
            "relayerService": _money(source, 30_000, "0.03"),
            "app": _money(source, 0, "0"),
        },
        "details": {
            "sender": source.account,
            "recipient": target.account,
            "currencyIn": _money(source, amount_in, "10.05"),
            "currencyOut": _money(target, wanted.amount, "10.00"),
            "timeEstimate": 3,
            "route": {"destination": {"router": "relay"}},
        },
        "protocol": {"v2": {"orderId": "0x" + id_.hex(), "orderData": data}},
    }


def _money(side: Side, amount: int, usd: str) -> dict[str, Any]:
    currency = {"chainId": NUMBERS[side.chain_id], "address": written(side), "symbol": "USDC", "decimals": 6}
    return {
        "currency": currency,
        "amount": str(amount),
        "amountUsd": usd,
        "minimumAmount": str(amount),
    }


def _steps(source: Side, amount: int, id_: bytes) -> list[dict[str, Any]]:
    if source.chain_id == SOLANA:
        return [_step("deposit", solana_deposit(amount, id_))]
    call = {"from": source.account, "chainId": source.chain_id, "gas": "90000"}
    if not source.token:
        deposited = bytes.fromhex("49290c1c") + encode(["address", "bytes32"], [source.account, id_])
        return [_step("deposit", call | {"to": DEPOSITORY, "data": _hex(deposited), "value": str(amount)})]
    deposited = bytes.fromhex("e8017952") + encode(
        ["address", "address", "uint256", "bytes32"], [source.account, source.token, amount, id_]
    )
    return [
        _step("approve", call | {"to": source.token, "data": approval(DEPOSITORY, amount), "value": "0"}),
        _step("deposit", call | {"to": DEPOSITORY, "data": _hex(deposited), "value": "0"}),
    ]


def approval(spender: str, amount: int) -> str:
    """Return the call data of approve(address,uint256)."""
    return _hex(bytes.fromhex("095ea7b3") + encode(["address", "uint256"], [spender, amount]))


def solana_deposit(amount: int, id_: bytes) -> dict[str, Any]:
    accounts = [PAYER_ON_SOLANA, USDC_ON_SOLANA, SYSTEM]
    deposit = bytes.fromhex("0b9c60da27a3b413") + amount.to_bytes(8, "little") + id_
    budget = "ComputeBudget111111111111111111111111111111"
    return {
        "instructions": [
            {"keys": [], "programId": budget, "data": "02400d0300"},
            {
                "keys": [
                    {"pubkey": key, "isSigner": key == PAYER_ON_SOLANA, "isWritable": key != USDC_ON_SOLANA}
                    for key in accounts
                ],
                "programId": DEPOSITORY_ON_SOLANA,
                "data": deposit.hex(),
            },
        ],
        "addressLookupTableAddresses": [str(Pubkey.from_bytes(b"\x07" * 32))],
    }


def _step(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": name, "kind": "transaction", "requestId": REQUEST_ID, "items": [{"data": dict(data)}]}


def _hex(data: bytes) -> str:
    return "0x" + data.hex()
