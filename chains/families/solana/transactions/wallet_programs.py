"""Wallet programs (multisigs).

Wallet programs execute only instructions that the members approved, and sign with a vault. If such a program makes a
transfer with the vault as the authority, the transfer counts like a top-level instruction. Transfers by other programs
don't count, because those programs forward any accounts that they receive.

Sources: Squads-Protocol/v4, `vault_transaction_execute.rs`, `batch_execute_transaction.rs` and `state/seeds.rs`;
Squads-Protocol/squads-mpl (v3), `execute_transaction` and `execute_instruction` in `programs/squads-mpl/src/lib.rs`. An
Anchor instruction's data begins with the first 8 bytes of the SHA-256 of `global:` and its name.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from solders.pubkey import Pubkey

from chains.families.solana.transactions.entries import Entry, Instruction

SQUADS_V3 = "SMPLecH534NA9acpos4G6x7uf3LWbCAwZQE9e8ZekMu"
SQUADS_V4 = "SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf"
_CALLED_DIRECTLY = 2  # the stack height of a call by a top-level instruction's program
_DISCRIMINATOR_BYTES = 8
_VAULTS = 256


def anchor_code(name: str) -> bytes:
    """Return the first bytes of an Anchor instruction's data, by its name."""
    return sha256(f"global:{name}".encode()).digest()[:_DISCRIMINATOR_BYTES]


@dataclass(frozen=True)
class _WalletProgram:
    """The instructions of a wallet program that execute approved instructions. The first account of such an instruction
    is the multisig.
    """

    codes: frozenset[bytes]
    seed: bytes
    index_bytes: int
    before_index: bytes = b""
    after_index: bytes = b""

    def seeds(self, multisig: bytes) -> Iterator[list[bytes]]:
        """Yield the seeds of the multisig's first vaults. v3 allows more, but they are not in use."""
        for index in range(_VAULTS):
            parts = (self.before_index, index.to_bytes(self.index_bytes, "little"), self.after_index)
            yield [self.seed, multisig, *(part for part in parts if part)]


_PROGRAMS = {
    SQUADS_V3: _WalletProgram(
        frozenset(map(anchor_code, ("execute_transaction", "execute_instruction"))),
        b"squad",
        4,
        after_index=b"authority",
    ),
    SQUADS_V4: _WalletProgram(
        frozenset(map(anchor_code, ("vault_transaction_execute", "batch_execute_transaction"))),
        b"multisig",
        1,
        before_index=b"vault",
    ),
}


def executing_multisigs(entry: Entry) -> dict[int, tuple[str, str]]:
    """Return the top-level instructions that execute approved instructions: index to wallet program and multisig."""
    executing = {}
    for instruction in entry.instructions:
        program = entry.program_of(instruction)
        if instruction.is_inner or program not in _PROGRAMS or not instruction.accounts:
            continue
        data = instruction.data or b""
        if data[:_DISCRIMINATOR_BYTES] in _PROGRAMS[program].codes:
            executing[instruction.top] = program, entry.keys[instruction.accounts[0]]
    return executing


def is_called_by_wallet(instruction: Instruction) -> bool:
    """Whether a top-level instruction's program made this call. False if the node reports no depth."""
    return instruction.is_inner and instruction.height == _CALLED_DIRECTLY


@lru_cache(maxsize=4096)
def is_vault(program: str, multisig: str, address: str) -> bool:
    account = Pubkey.from_string(address)
    if account.is_on_curve():
        return False
    wallet, deriving = _PROGRAMS[program], Pubkey.from_string(program)
    seeds = wallet.seeds(bytes(Pubkey.from_string(multisig)))
    return any(Pubkey.find_program_address(some, deriving)[0] == account for some in seeds)
