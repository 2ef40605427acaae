"""Blocks of a chain."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Block:
    """A block, or on Solana a slot. `time` is its timestamp in UTC."""

    number: int
    hash: str
    time: datetime
