"""Parse a Solana transaction from a third party before a wallet signs it. Safe for hostile input.

Sources: Solana's transaction format (legacy and version 0), the Compute Budget program. Newer formats are rejected,
because a wallet must not sign a transaction that can't be read.
"""

from dataclasses import dataclass

from solders.hash import Hash
from solders.instruction import CompiledInstruction
from solders.message import Message, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from chains.client import SolanaInstructions, SolanaTransaction
from chains.families.solana.accounts import SYSTEM

MAX_BYTES = 1232
"""The largest transaction that the network carries."""
COMPUTE_BUDGET = "ComputeBudget111111111111111111111111111111"
_VERIFIERS = {
    "Ed25519SigVerify111111111111111111111111111",
    "KeccakSecp256k11111111111111111111111111111",
    "Secp256r1SigVerify1111111111111111111111111",
}
_SIGNATURE_FEE = 5_000
MAX_UNITS = 1_400_000
"""The maximum compute units of a transaction."""
_MICRO = 10**6
_UNIT_LIMIT, _UNIT_PRICE = 2, 3
_ADVANCE_NONCE = b"\x04\0\0\0"


@dataclass(frozen=True)
class AccountUse:
    """An account of an instruction. `key` is None if it is in a lookup table. Accounts in lookup tables never sign."""

    key: str | None
    is_signer: bool
    is_writable: bool


@dataclass(frozen=True)
class MessageInstruction:
    """One instruction. An instruction's program is never in a lookup table."""

    program: str
    accounts: tuple[AccountUse, ...]
    data: bytes

    def names(self, key: str) -> bool:
        return any(account.key == key for account in self.accounts)


@dataclass(frozen=True)
class TableUse:
    """A lookup table, and the indexes of the accounts that a message loads from it."""

    table: str
    writable: tuple[int, ...]
    readonly: tuple[int, ...]


@dataclass(frozen=True)
class SolanaMessage:
    """A transaction's instructions and signers. `signatures` has the signers with a valid signature."""

    fee_payer: str
    signers: tuple[str, ...]
    signatures: frozenset[str]
    writable: tuple[str, ...]
    """The writable accounts, without those in lookup tables."""
    instructions: tuple[MessageInstruction, ...]
    lookup_tables: tuple[TableUse, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """The signers without a signature."""
        return tuple(signer for signer in self.signers if signer not in self.signatures)


def read_message(serialized: bytes) -> SolanaMessage:
    """Parse a serialised transaction. If it is malformed or has an invalid signature, raises ValueError and no
    other error.
    """
    transaction = _parsed(serialized)
    message = transaction.message
    if not isinstance(message, Message | MessageV0):
        raise ValueError("the transaction's version is not supported")
    keys = [str(key) for key in message.account_keys]
    header, count = message.header, len(keys)
    signing, plain = header.num_required_signatures, header.num_readonly_unsigned_accounts
    fixed_signers = header.num_readonly_signed_accounts
    if not 0 < signing <= count - plain or fixed_signers >= signing or len(set(keys)) != count:
        raise ValueError("the transaction's header does not match its accounts")
    tables = _tables(message)
    loaded_writable = sum(len(table.writable) for table in tables)
    total = count + loaded_writable + sum(len(table.readonly) for table in tables)
    uses = [
        AccountUse(key, place < signing, place < signing - fixed_signers or signing <= place < count - plain)
        for place, key in enumerate(keys)
    ]
    uses += [AccountUse(None, False, place < count + loaded_writable) for place in range(count, total)]
    return SolanaMessage(
        fee_payer=keys[0],
        signers=tuple(keys[:signing]),
        signatures=_signatures(transaction, message, signing),
        writable=tuple(use.key for use in uses if use.is_writable and use.key is not None),
        instructions=tuple(_instruction(instruction, keys, uses) for instruction in message.instructions),
        lookup_tables=tables,
    )


def read_action(action: SolanaTransaction | SolanaInstructions, payer: str) -> SolanaMessage:
    """Parse an action: a transaction or bare instructions. `payer` pays the fee of bare instructions. Raises only
    ValueError.
    """
    return (
        read_message(action.serialized)
        if isinstance(action, SolanaTransaction)
        else message_of(action, payer)
    )


def message_of(action: SolanaInstructions, payer: str) -> SolanaMessage:
    """Return the unsigned message of these instructions with `payer` as the fee payer.

    Raises ValueError for invalid keys.
    """
    signers: dict[str, None] = {payer: None}
    writable: dict[str, None] = {payer: None}
    Pubkey.from_string(payer)
    for instruction in action.instructions:
        Pubkey.from_string(instruction.program)
        for key, signs, is_written in instruction.accounts:
            Pubkey.from_string(key)
            signers |= {key: None} if signs else {}
            writable |= {key: None} if is_written else {}
    return SolanaMessage(
        fee_payer=payer,
        signers=tuple(signers),
        signatures=frozenset(),
        writable=tuple(writable),
        instructions=tuple(
            MessageInstruction(
                instruction.program,
                tuple(AccountUse(key, key in signers, key in writable) for key, _, _ in instruction.accounts),
                instruction.data,
            )
            for instruction in action.instructions
        ),
    )


def highest_fee(message: SolanaMessage) -> int:
    """Return the largest possible network fee in lamports, for signatures and compute units.

    Signatures that the native verifier programs check cost as much as those of the signers.
    """
    signatures, units, price = len(message.signers), MAX_UNITS, 0
    for instruction in message.instructions:
        if instruction.program in _VERIFIERS:
            signatures += sum(instruction.data[:1])
        elif instruction.program == COMPUTE_BUDGET and instruction.data:
            value = int.from_bytes(instruction.data[1:], "little")
            if instruction.data[0] == _UNIT_LIMIT:
                units = min(value, MAX_UNITS)
            elif instruction.data[0] == _UNIT_PRICE:
                price = value
    return signatures * _SIGNATURE_FEE + -(-units * price // _MICRO)


def uses_durable_nonce(message: SolanaMessage) -> bool:
    """Whether the message uses a durable nonce, which never expires, instead of a blockhash."""
    return any(
        instruction.program == SYSTEM and instruction.data[:4] == _ADVANCE_NONCE
        for instruction in message.instructions
    )


def unsigned_copy(serialized: bytes, blockhash: str) -> bytes:
    """Return the transaction with a new blockhash and without signatures. Raises ValueError."""
    transaction = _parsed(serialized)
    message, latest = transaction.message, Hash.from_string(blockhash)
    fresh: Message | MessageV0
    if isinstance(message, MessageV0):
        fresh = MessageV0(
            message.header,
            message.account_keys,
            latest,
            message.instructions,
            message.address_table_lookups,
        )
    elif isinstance(message, Message):
        header = message.header
        fresh = Message.new_with_compiled_instructions(
            header.num_required_signatures,
            header.num_readonly_signed_accounts,
            header.num_readonly_unsigned_accounts,
            message.account_keys,
            latest,
            message.instructions,
        )
    else:
        raise ValueError("the transaction's version is not supported")
    empty = [Signature.default()] * len(transaction.signatures)
    return bytes(VersionedTransaction.populate(fresh, empty))


def _parsed(serialized: bytes) -> VersionedTransaction:
    """Parse a transaction. Raises ValueError for all failures in solders, including panics."""
    if not 0 < len(serialized) <= MAX_BYTES:
        raise ValueError("the transaction is empty or too large")
    try:
        transaction = VersionedTransaction.from_bytes(serialized)
        is_whole = bytes(transaction) == serialized
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ValueError("the transaction is malformed") from None
    if not is_whole:
        raise ValueError("the transaction has extra bytes at its end")
    return transaction


def _signatures(
    transaction: VersionedTransaction, message: Message | MessageV0, signing: int
) -> frozenset[str]:
    """Return the signers with a signature. Raises ValueError for an invalid signature."""
    if len(transaction.signatures) != signing:
        raise ValueError("the transaction's number of signatures differs from its number of signers")
    signed = to_bytes_versioned(message)
    present = set()
    for key, signature in zip(message.account_keys[:signing], transaction.signatures, strict=True):
        if signature == Signature.default():
            continue
        if not signature.verify(key, signed):
            raise ValueError("the transaction has an invalid signature")
        present.add(str(key))
    return frozenset(present)


def _tables(message: Message | MessageV0) -> tuple[TableUse, ...]:
    if isinstance(message, Message):
        return ()
    return tuple(
        TableUse(str(lookup.account_key), tuple(lookup.writable_indexes), tuple(lookup.readonly_indexes))
        for lookup in message.address_table_lookups
    )


def _instruction(
    instruction: CompiledInstruction, keys: list[str], uses: list[AccountUse]
) -> MessageInstruction:
    program, accounts = instruction.program_id_index, bytes(instruction.accounts)
    if not 0 < program < len(keys) or any(place >= len(uses) for place in accounts):
        raise ValueError("an instruction names an account that the transaction does not have")
    return MessageInstruction(
        keys[program], tuple(uses[place] for place in accounts), bytes(instruction.data)
    )
