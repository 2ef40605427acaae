"""Commitment levels of requests, by solana-py's names."""

from typing import Any, Final

from solana.rpc.commitment import Commitment

PROCESSED: Final[dict[str, Any]] = {"commitment": Commitment.PROCESSED}
CONFIRMED: Final[dict[str, Any]] = {"commitment": Commitment.CONFIRMED}
FINALIZED: Final[dict[str, Any]] = {"commitment": Commitment.FINALIZED}
ACCOUNTS: Final[dict[str, Any]] = {"encoding": "base64", **CONFIRMED}
"""Options for calls that return accounts: the data is in base64."""
COMMITMENTS: Final = tuple(Commitment)
