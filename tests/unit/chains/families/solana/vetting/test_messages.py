"""A stranger's serialised transaction is either read completely and correctly, or raises ValueError."""

import random

import pytest
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.compute_budget import set_compute_unit_limit, set_compute_unit_price
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from chains.client import SolanaInstruction, SolanaInstructions
from chains.families.solana.vetting.debits import debits
from chains.families.solana.vetting.messages import (
    AccountUse,
    TableUse,
    highest_fee,
    message_of,
    read_message,
    unsigned_copy,
)
from chains.families.solana.vetting.tables import writable_accounts
from tests.support.solana.actions import MEMO, bare, memo, whole

PAYER, OTHER, STRANGER = Keypair(), Keypair(), Keypair().pubkey()
LOADED = [Keypair().pubkey() for _ in range(3)]
TABLE = AddressLookupTableAccount(Keypair().pubkey(), LOADED)
PROGRAM = Keypair().pubkey()
SYSTEM = "11111111111111111111111111111111"


def call(*accounts: tuple[Pubkey, bool, bool]) -> Instruction:
    return Instruction(PROGRAM, b"data", [AccountMeta(*account) for account in accounts])


def sample() -> bytes:
    """A message with two signers, one signature, and accounts of every kind.

    The table gives two, one writable.
    """
    instruction = call(
        (PAYER.pubkey(), True, True),
        (OTHER.pubkey(), True, False),
        (STRANGER, False, True),
        (LOADED[2], False, True),
        (LOADED[0], False, False),
    )
    return whole([memo("id"), instruction], PAYER, signed_by=[OTHER], tables=[TABLE]).serialized


def test_all_of_it_is_told() -> None:
    message = read_message(sample())
    payer, other = str(PAYER.pubkey()), str(OTHER.pubkey())
    assert (message.fee_payer, message.signers) == (payer, (payer, other))
    assert (message.signatures, message.missing) == ({other}, (payer,))
    assert message.writable == (payer, str(STRANGER))
    assert message.lookup_tables == (TableUse(str(TABLE.key), (2,), (0,)),)
    said, called = message.instructions
    assert (said.program, said.accounts, said.data) == (str(MEMO), (), b"id")
    assert (called.program, called.data) == (str(PROGRAM), b"data")
    assert called.accounts == (
        AccountUse(payer, True, True),
        AccountUse(other, True, False),
        AccountUse(str(STRANGER), False, True),
        AccountUse(None, False, True),
        AccountUse(None, False, False),
    )


def test_what_may_change_is_resolved_by_the_tables() -> None:
    message, held = read_message(sample()), [str(key) for key in LOADED]
    loaded = writable_accounts(message, {str(TABLE.key): held})
    assert loaded == (*message.writable, str(LOADED[2]))
    for tables in ({}, {str(TABLE.key): held[:2]}):
        with pytest.raises(ValueError, match="lookup table"):
            writable_accounts(message, tables)


def test_instructions_are_told_as_their_transaction_would_be() -> None:
    instructions = [memo("id"), call((PAYER.pubkey(), True, True), (OTHER.pubkey(), True, False))]
    instructions.append(call((OTHER.pubkey(), False, False), (PAYER.pubkey(), False, False)))
    whole_one = read_message(whole(instructions, PAYER).serialized)
    assert message_of(bare(instructions), str(PAYER.pubkey())) == whole_one


def test_keys_that_are_none_are_no_instructions() -> None:
    junk = SolanaInstructions((SolanaInstruction(SYSTEM, (("no key", False, False),), b""),))
    for action in (junk, SolanaInstructions((SolanaInstruction("no key", (), b""),))):
        with pytest.raises(ValueError, match=r"."):
            message_of(action, str(PAYER.pubkey()))
    with pytest.raises(ValueError, match=r"."):
        message_of(SolanaInstructions(()), "no key")


def test_what_the_network_charges_at_most() -> None:
    def fee(*instructions: Instruction) -> int:
        return highest_fee(read_message(whole(instructions, PAYER).serialized))

    assert fee(memo("x")) == 5_000
    assert fee(set_compute_unit_limit(60_000), set_compute_unit_price(1_000)) == 5_060
    assert fee(set_compute_unit_limit(1), set_compute_unit_price(1)) == 5_001
    assert fee(set_compute_unit_price(1_000_000)) == 5_000 + 1_400_000
    assert fee(set_compute_unit_limit(2**32 - 1), set_compute_unit_price(1_000_000)) == 5_000 + 1_400_000
    assert fee(call((OTHER.pubkey(), True, False))) == 10_000
    verifier = Pubkey.from_string("Ed25519SigVerify111111111111111111111111111")
    assert fee(Instruction(verifier, b"\x02" + bytes(9), []), Instruction(verifier, b"", [])) == 15_000


@pytest.mark.parametrize("kind", ["version 0", "legacy"])
def test_a_copy_differs_in_its_blockhash_and_signatures_alone(kind: str) -> None:
    move = transfer(TransferParams(from_pubkey=PAYER.pubkey(), to_pubkey=STRANGER, lamports=5))
    key, fresh = PAYER.pubkey(), Hash.new_unique()
    before: MessageV0 | Message
    if kind == "legacy":
        before = Message.new_with_blockhash([move], key, Hash.default())
        after: MessageV0 | Message = Message.new_with_blockhash([move], key, fresh)
    else:
        before = MessageV0.try_compile(key, [move], [], Hash.default())
        after = MessageV0.try_compile(key, [move], [], fresh)
    serialized = bytes(VersionedTransaction(before, [PAYER]))
    expected = bytes(VersionedTransaction.populate(after, [Signature.default()]))
    assert unsigned_copy(serialized, str(fresh)) == expected


def test_bytes_after_the_end_are_no_part_of_it() -> None:
    with pytest.raises(ValueError, match="extra bytes"):
        read_message(sample() + b"\0")


def test_a_key_that_stands_there_twice_does_not_fit_together() -> None:
    instruction = call((PAYER.pubkey(), True, True), (STRANGER, False, True))
    serialized = whole([instruction], PAYER).serialized
    assert read_message(serialized)
    with pytest.raises(ValueError, match="does not match its accounts"):
        read_message(serialized.replace(bytes(STRANGER), bytes(PAYER.pubkey())))


def test_another_version_is_not_read() -> None:
    data = bytearray(sample())
    place = 1 + 2 * 64
    assert data[place] == 0x80
    for version in range(1, 128):
        data[place] = 0x80 | version
        with pytest.raises(ValueError, match=r"."):
            read_message(bytes(data))


def test_bent_bytes_are_a_value_error_or_fit_together() -> None:
    """Random malformed transactions, from a fixed seed. Each one that can be read can also be evaluated."""
    rng, whole_one, owner = random.Random(6), sample(), str(PAYER.pubkey())
    read = refused = 0
    for _ in range(6_000):
        bent = bytearray(whole_one)
        for _ in range(rng.randint(1, 3)):
            # Don't change the verified signature, so that the test gets past that check.
            place = rng.choice([*range(65), *range(129, len(bent))])
            bent[place] = rng.choice([0, 1, 2, 127, 128, 255, rng.randrange(256)])
        if rng.random() < 0.2:
            del bent[rng.randrange(len(bent)) :]
        # Only this signer has signed. A changed byte here changes the message, which the signature covers.
        bent[65:129] = bytes(64)
        try:
            message = read_message(bytes(bent))
        except ValueError:
            refused += 1
            continue
        read += 1
        debits(message, owner)
        highest_fee(message)
        unsigned_copy(bytes(bent), str(Hash.default()))
    assert read > 500
    assert refused > 500
