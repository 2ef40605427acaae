"""Transactions as routing providers make them, honest and hostile, for tests."""

from collections.abc import Iterable, Sequence

from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from chains.clients.base import SolanaInstruction, SolanaInstructions, SolanaTransaction
from tests.solana.ledger import LocalLedger

LOOKUP_TABLES = Pubkey.from_string("AddressLookupTab1e1111111111111111111111111")
MEMO = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
_SYSTEM = Pubkey.from_string("11111111111111111111111111111111")


def whole(
    instructions: Sequence[Instruction],
    payer: Keypair | Pubkey,
    *,
    signed_by: Sequence[Keypair] = (),
    tables: Sequence[AddressLookupTableAccount] = (),
    blockhash: Hash | None = None,
) -> SolanaTransaction:
    """A provider's transaction, which everybody has signed but the payer; its blockhash is an old one by default."""
    key = payer.pubkey() if isinstance(payer, Keypair) else payer
    message = MessageV0.try_compile(key, list(instructions), list(tables), blockhash or Hash.default())
    signing = message.account_keys[: message.header.num_required_signatures]
    by_key = {signer.pubkey(): signer for signer in signed_by}
    said = to_bytes_versioned(message)
    signatures = [by_key[of].sign_message(said) if of in by_key else Signature.default() for of in signing]
    return SolanaTransaction(bytes(VersionedTransaction.populate(message, signatures)))


def bare(instructions: Iterable[Instruction], tables: Sequence[str] = ()) -> SolanaInstructions:
    """The same, as instructions that are still to be made a transaction."""
    return SolanaInstructions(
        tuple(
            SolanaInstruction(
                str(instruction.program_id),
                tuple((str(meta.pubkey), meta.is_signer, meta.is_writable) for meta in instruction.accounts),
                bytes(instruction.data),
            )
            for instruction in instructions
        ),
        tuple(tables),
    )


def memo(text: str) -> Instruction:
    """A word to the memo program, which stands in for a router's program."""
    return Instruction(MEMO, text.encode(), [])


def make_table(ledger: LocalLedger, keys: Sequence[Pubkey]) -> AddressLookupTableAccount:
    """Put a lookup table with these keys on the chain, ready for use."""
    payer = ledger.key.pubkey()
    slot = ledger.rpc("getSlot", {"commitment": "finalized"})
    table, bump = Pubkey.find_program_address([bytes(payer), slot.to_bytes(8, "little")], LOOKUP_TABLES)
    head = [AccountMeta(table, False, True), AccountMeta(payer, True, False), AccountMeta(payer, True, True)]
    accounts = [*head, AccountMeta(_SYSTEM, False, False)]
    create = bytes(4) + slot.to_bytes(8, "little") + bytes([bump])
    extend = (2).to_bytes(4, "little") + len(keys).to_bytes(8, "little") + b"".join(map(bytes, keys))
    ledger.send([Instruction(LOOKUP_TABLES, create, accounts), Instruction(LOOKUP_TABLES, extend, accounts)])
    # What was added is there from the next slot on.
    ledger.send([memo("the next slot")])
    return AddressLookupTableAccount(table, list(keys))
