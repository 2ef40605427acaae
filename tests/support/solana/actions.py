"""Honest and hostile transactions of routing providers."""

import base64
from collections.abc import Iterable, Sequence

from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import (
    CreateLookupTableParams,
    ExtendLookupTableParams,
    create_lookup_table,
    extend_lookup_table,
)
from solders.sysvar import SLOT_HASHES
from solders.transaction import VersionedTransaction

from chains.client import SolanaInstruction, SolanaInstructions, SolanaTransaction
from tests.processes import eventually
from tests.support.solana.ledger import LocalLedger

MEMO = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")


def whole(
    instructions: Sequence[Instruction],
    payer: Keypair | Pubkey,
    *,
    signed_by: Sequence[Keypair] = (),
    tables: Sequence[AddressLookupTableAccount] = (),
    blockhash: Hash | None = None,
) -> SolanaTransaction:
    """Return a provider's transaction, signed by everyone except the payer. By default, its blockhash is old."""
    key = payer.pubkey() if isinstance(payer, Keypair) else payer
    message = MessageV0.try_compile(key, list(instructions), list(tables), blockhash or Hash.default())
    signing = message.account_keys[: message.header.num_required_signatures]
    by_key = {signer.pubkey(): signer for signer in signed_by}
    said = to_bytes_versioned(message)
    signatures = [by_key[of].sign_message(said) if of in by_key else Signature.default() for of in signing]
    return SolanaTransaction(bytes(VersionedTransaction.populate(message, signatures)))


def bare(instructions: Iterable[Instruction], tables: Sequence[str] = ()) -> SolanaInstructions:
    """Return the same as instructions, which are not a transaction yet."""
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
    """Return a memo instruction. It takes the place of a router's call."""
    return Instruction(MEMO, text.encode(), [])


def make_table(ledger: LocalLedger, addresses: Sequence[str]) -> AddressLookupTableAccount:
    """Return an active lookup table on the chain."""
    keys = [Pubkey.from_string(address) for address in addresses]
    authority = ledger.key.pubkey()
    table = _new_table(ledger)
    extend = extend_lookup_table(
        ExtendLookupTableParams(
            payer_address=authority,
            lookup_table_address=table,
            authority_address=authority,
            new_addresses=keys,
        )
    )
    ledger.send([extend])
    made_in = ledger.rpc("getSlot", {"commitment": "confirmed"})
    eventually(
        lambda: ledger.rpc("getSlot", {"commitment": "confirmed"}) > made_in + 1, "the table is in force"
    )
    return AddressLookupTableAccount(table, keys)


def _new_table(ledger: LocalLedger) -> Pubkey:
    """Create an empty table. Its address depends on its authority and a recent slot."""
    authority = ledger.key.pubkey()
    create, table = create_lookup_table(
        CreateLookupTableParams(
            authority_address=authority, payer_address=authority, recent_slot=_recent_slot(ledger)
        )
    )
    ledger.send([create])
    return table


def _recent_slot(ledger: LocalLedger) -> int:
    """Return the newest slot in the chain's own list. The list has a count, then the slots, newest first."""
    account = ledger.rpc(
        "getAccountInfo", str(SLOT_HASHES), {"encoding": "base64", "commitment": "confirmed"}
    )
    return int.from_bytes(base64.b64decode(account["value"]["data"][0])[8:16], "little")
