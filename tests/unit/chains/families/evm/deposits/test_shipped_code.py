"""Checks of the contracts' committed code, instruction by instruction."""

from collections import Counter
from collections.abc import Iterator

from chains.families.evm.deposits.shipped import FACTORY, FORWARDER

CREATE2, STATICCALL, CALL = 0xF5, 0xFA, 0xF1
# CREATE, CALLCODE, DELEGATECALL and SELFDESTRUCT. And PUSH0, which some chains lack.
NEVER = {0xF0, 0xF2, 0xF4, 0xFF, 0x5F}
PUSH1, PUSH32 = 0x60, 0x7F
# ORIGIN, CALLER, GASPRICE, and instructions that depend on the block or the chain: BLOCKHASH to CHAINID.
SURROUNDINGS = {0x32, 0x33, 0x3A, *range(0x40, 0x47)}
SLOAD, SSTORE, TLOAD, TSTORE = 0x54, 0x55, 0x5C, 0x5D
LARGEST_CODE = 24_576  # EIP-170


def instructions(code: bytes) -> Iterator[int]:
    at = 0
    while at < len(code):
        yield code[at]
        is_push = PUSH1 <= code[at] <= PUSH32
        at += 1 + is_push * (code[at] - PUSH1 + 1)


def test_forwarder_has_two_calls_and_no_other_way_out() -> None:
    counts = Counter(instructions(FORWARDER.code))
    assert counts.keys().isdisjoint({*NEVER, CREATE2, SLOAD, SSTORE, TLOAD, TSTORE})
    # One call to the recipient and one to the token. The balance is read with a static call.
    assert (counts[CALL], counts[STATICCALL]) == (2, 1)


def test_forwarder_does_the_same_for_every_caller_at_any_time() -> None:
    assert SURROUNDINGS.isdisjoint(instructions(FORWARDER.code))


def test_factory_creates_forwarders_and_has_no_storage() -> None:
    own, _, _ = FACTORY.code.partition(FORWARDER.init_code)
    counts = Counter(instructions(own))
    assert counts.keys().isdisjoint({*NEVER, SLOAD, SSTORE, TLOAD, TSTORE})
    assert (counts[CREATE2], counts[CALL]) == (1, 1)


def test_factory_deploys_the_shipped_forwarder() -> None:
    assert FACTORY.code.count(FORWARDER.init_code) == 1
    assert FACTORY.init_code.endswith(FACTORY.code)
    assert len(FACTORY.code) < LARGEST_CODE


def test_recipient_is_a_part_of_the_forwarders_code() -> None:
    # The code has zeros in place of the recipient, once for each use.
    assert FORWARDER.code.count(b"\x7f" + bytes(32)) == 1
