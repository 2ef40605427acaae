"""Variants of the forwarder with one security hole each. For each variant, the proof of one property must fail."""

from dataclasses import dataclass

_COINS_LEAVE = "call(gas(), recipient, amount, 0, 0, 0, 0)"
_TRANSFER = (
    "mstore(0, shl(224, 0xa9059cbb)) // transfer(recipient, balance)\n                mstore(0x04, recipient)"
)
_TOKENS_LEAVE = "call(gas(), token, 0, 0, 0x44, 0, 0)"


@dataclass(frozen=True)
class Mutant:
    """`changes` are the replacements in Forwarder.sol that make the hole.

    `refutes` is the check that must then fail.
    """

    name: str
    refutes: str
    changes: tuple[tuple[str, str], ...]

    def source(self, original: str) -> str:
        for text, replacement in self.changes:
            if original.count(text) != 1:
                raise ValueError(f"{self.name}: Forwarder.sol no longer has exactly one {text!r}.")
            original = original.replace(text, replacement)
        return original


MUTANTS = (
    Mutant(
        "native coin goes to the caller",
        "check_whatLeavesGoesToTheRecipient",
        ((_COINS_LEAVE, _COINS_LEAVE.replace("recipient", "caller()")),),
    ),
    Mutant(
        "tokens go to the caller",
        "check_whatLeavesGoesToTheRecipient",
        ((_TRANSFER, _TRANSFER.replace("(0x04, recipient)", "(0x04, caller())")),),
    ),
    Mutant(
        "the token's code runs as the forwarder",
        "check_whatLeavesGoesToTheRecipient",
        ((_TOKENS_LEAVE, "delegatecall(gas(), token, 0, 0x44, 0, 0)"),),
    ),
    Mutant(
        "a sweep takes what its caller has and approved",
        "check_sweptIsAtMostReceived",
        (
            ("mstore(0x04, address())", "mstore(0x04, caller())"),
            (
                _TRANSFER,
                "mstore(0x64, mload(0x24)) mstore(0x20, shl(224, 0x23b872dd))\n"
                "mstore(0x24, caller()) mstore(0x44, recipient)",
            ),
            (_TOKENS_LEAVE, "call(gas(), token, 0, 0x20, 0x64, 0, 0)"),
        ),
    ),
    Mutant(
        "half of the native coin stays",
        "check_sweepBringsEverything",
        (("let amount := selfbalance()", "let amount := div(selfbalance(), 2)"),),
    ),
)
