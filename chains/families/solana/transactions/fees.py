"""Compute the transfer fee of a Token-2022 mint at the time of a transaction.

Balances alone don't show the fee: another transfer in the same transaction could hide it.
Sources: Token-2022's transfer fee extension (`TransferFeeConfig`, `calculate_epoch_fee`), Solana's epoch schedule.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chains.client import ChainError
from chains.families.solana.accounts import TOKEN_2022, Account, extension, read_account
from chains.families.solana.commitments import CONFIRMED
from chains.families.solana.results import result_of, sequence, value_of, whole
from chains.rpc.json_rpc import Call, JsonRpc, json_object

_ALL = 10_000  # basis points
_TRANSFER_FEE_CONFIG = 1
_CONFIG_BYTES = 108
_OLDER_AT = 72
_RATE_BYTES = 18
# A mint's data fits into this many bytes up to its metadata, which has no fixed length.
_MINT_BYTES = 2_048
_MAX_ACCOUNTS = 100
_KEPT_SECONDS = 60.0
_MAX_KEPT = 10_000


@dataclass(frozen=True)
class Rate:
    """A fee in basis points of the amount, rounded up, and at most `maximum` base units. The fee applies from `epoch`
    on.
    """

    epoch: int
    maximum: int
    basis_points: int

    def of(self, amount: int) -> int:
        return min(-(-amount * self.basis_points // _ALL), self.maximum)


@dataclass(frozen=True)
class MintFee:
    """A mint's fee. `newer` applies from `newer.epoch` on, and `older` before that epoch."""

    older: Rate
    newer: Rate

    def of(self, amount: int, epoch: int | None) -> int:
        """Return the fee of a transfer in this epoch; the larger of the two fees if the epoch is unknown."""
        if epoch is None or epoch < min(self.older.epoch, self.newer.epoch):
            return max(self.older.of(amount), self.newer.of(amount))
        return (self.newer if epoch >= self.newer.epoch else self.older).of(amount)


_NOTHING = Rate(0, 0, 0)
_EVERYTHING = Rate(0, 2**64 - 1, _ALL)
FREE = MintFee(_NOTHING, _NOTHING)
GONE = MintFee(_EVERYTHING, _EVERYTHING)
"""The fee of a mint that no longer exists. The real fee is unknown, so a transfer's whole amount counts as the fee."""


@dataclass(frozen=True)
class Fees:
    """The fees of the Token-2022 mints that a transaction moves, in its epoch."""

    by_mint: Mapping[str, MintFee] = field(default_factory=dict)
    epoch: int | None = None

    def of(self, mint: str, amount: int) -> int:
        """Return the fee of a transfer; the whole amount if the mint's fee is unknown."""
        return self.by_mint.get(mint, GONE).of(amount, self.epoch)


@dataclass(frozen=True)
class EpochSchedule:
    slots: int
    first_slot: int
    first_epoch: int

    def epoch_of(self, slot: int) -> int | None:
        """Return the slot's epoch; None for the first epochs of a new cluster, which are shorter."""
        if slot < self.first_slot:
            return None
        return self.first_epoch + (slot - self.first_slot) // self.slots


class FeeBook:
    """A cache of the mints' fees by node, each kept for a minute. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[tuple[str, ...], str], tuple[float, MintFee]] = OrderedDict()
        self._schedules: dict[tuple[str, ...], EpochSchedule] = {}

    def fetch(
        self, node: JsonRpc, mints: Collection[str]
    ) -> tuple[Mapping[str, MintFee], EpochSchedule | None]:
        """Return the fees of these mints and the node's epoch schedule. Each 100 mints take at most one round trip.

        Mints whose account the node doesn't return are omitted. Raises ChainError if the node doesn't respond.
        """
        if not mints:
            return {}, None
        fees, schedule = self._remembered(node, mints)
        unknown = sorted(set(mints) - fees.keys())
        chunks = [unknown[at : at + _MAX_ACCOUNTS] for at in range(0, len(unknown), _MAX_ACCOUNTS)]
        options = {"encoding": "base64", "dataSlice": {"offset": 0, "length": _MINT_BYTES}}
        calls: list[Call] = [("getMultipleAccounts", [chunk, {**options, **CONFIRMED}]) for chunk in chunks]
        if schedule is None:
            calls.append(("getEpochSchedule", []))
        if not calls:
            return fees, schedule
        results = node.batch(calls, list)
        fetched = {
            mint: fee
            for chunk, result in zip(chunks, results, strict=False)
            for mint, fee in _fees(chunk, result)
        }
        schedule = schedule or _schedule(results[-1])
        self._remember(node, fetched, schedule)
        return {**fees, **fetched}, schedule

    def _remembered(
        self, node: JsonRpc, mints: Collection[str]
    ) -> tuple[dict[str, MintFee], EpochSchedule | None]:
        now = self._clock()
        with self._lock:
            entries = {mint: self._kept.get((node.urls, mint)) for mint in mints}
            schedule = self._schedules.get(node.urls)
        return {mint: entry[1] for mint, entry in entries.items() if entry and entry[0] > now}, schedule

    def _remember(self, node: JsonRpc, fees: Mapping[str, MintFee], schedule: EpochSchedule | None) -> None:
        until = self._clock() + _KEPT_SECONDS
        with self._lock:
            if schedule is not None:
                self._schedules[node.urls] = schedule
            for mint, fee in fees.items():
                self._kept[node.urls, mint] = until, fee
                self._kept.move_to_end((node.urls, mint))
            while len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)


def read_mint_fee(account: Account | None) -> MintFee:
    """Parse the fee of a Token-2022 mint from the beginning of its account's data."""
    if account is None or account.owner != TOKEN_2022:
        return GONE
    config = extension(account, _TRANSFER_FEE_CONFIG)
    return FREE if config is None else _config(config)


def _config(config: bytes) -> MintFee:
    if len(config) != _CONFIG_BYTES:
        raise ChainError("the node's mint has a malformed transfer fee")
    return MintFee(_rate(config[_OLDER_AT:]), _rate(config[_OLDER_AT + _RATE_BYTES :]))


def _rate(data: bytes) -> Rate:
    epoch, maximum, points = (
        int.from_bytes(data[at:end], "little") for at, end in ((0, 8), (8, 16), (16, 18))
    )
    return Rate(epoch, maximum, points)


def _fees(mints: Sequence[str], result: Any) -> list[tuple[str, MintFee]]:
    try:
        entries = sequence(value_of(result))
        if len(entries) != len(mints):
            raise ChainError("the node did not return every mint")
    except ChainError:
        return []
    fees = []
    for mint, entry in zip(mints, entries, strict=True):
        try:
            fees.append((mint, read_mint_fee(read_account(entry))))
        except ChainError:
            continue
    return fees


def _schedule(result: Any) -> EpochSchedule | None:
    try:
        fields = json_object(result_of(result))
        names = ("slotsPerEpoch", "firstNormalSlot", "firstNormalEpoch")
        slots, first_slot, first_epoch = (whole(fields.get(name)) for name in names)
    except ChainError:
        return None
    return EpochSchedule(slots, first_slot, first_epoch) if slots else None
