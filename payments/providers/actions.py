"""Serialise a provider's action for a JSON column, and read it back."""

from typing import Any

from chains.client import Action, EvmCall, SolanaInstruction, SolanaInstructions, SolanaTransaction


def to_json(action: Action) -> dict[str, Any]:
    """Return `action` as JSON. Bytes become hex. Wei become strings, because JSON numbers may lose digits."""
    match action:
        case EvmCall():
            return {
                "kind": "evm",
                "to": action.to,
                "data": action.data.hex(),
                "value": str(action.value),
                "gas": action.gas,
            }
        case SolanaTransaction():
            return {"kind": "solana", "serialized": action.serialized.hex()}
        case SolanaInstructions():
            return {
                "kind": "solana instructions",
                "instructions": [
                    {
                        "program": one.program,
                        "accounts": [list(a) for a in one.accounts],
                        "data": one.data.hex(),
                    }
                    for one in action.instructions
                ],
                "lookup_tables": list(action.lookup_tables),
            }


def from_json(stored: dict[str, Any]) -> Action:
    """Reverse `to_json`."""
    match stored["kind"]:
        case "evm":
            return EvmCall(stored["to"], bytes.fromhex(stored["data"]), int(stored["value"]), stored["gas"])
        case "solana":
            return SolanaTransaction(bytes.fromhex(stored["serialized"]))
        case "solana instructions":
            return SolanaInstructions(
                tuple(
                    SolanaInstruction(
                        one["program"],
                        tuple((key, signs, writes) for key, signs, writes in one["accounts"]),
                        bytes.fromhex(one["data"]),
                    )
                    for one in stored["instructions"]
                ),
                tuple(stored["lookup_tables"]),
            )
    raise ValueError(f"unknown kind of action: {stored['kind']!r}")
