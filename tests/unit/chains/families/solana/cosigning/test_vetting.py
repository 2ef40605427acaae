"""The changes that a wallet may make in a sponsored transaction, and those that make it unfit."""

import base64
from dataclasses import dataclass, field

import pytest
from solders.compute_budget import request_heap_frame, set_compute_unit_limit, set_compute_unit_price
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageAddressTableLookup, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from chains.families.base import SignatureError
from chains.families.solana.accounts import TOKEN
from chains.families.solana.cosigning.signing import address_of, fee_payer_of, sign
from chains.families.solana.cosigning.vetting import LIGHTHOUSE, read_signed
from chains.families.solana.unsigned_transfers import (
    MAX_SPONSORED_FEE,
    Budget,
    Mint,
    Part,
    token_transfer,
    unsigned,
)
from chains.families.solana.vetting.messages import COMPUTE_BUDGET, highest_fee, read_message
from tests.support.solana.signing import instructions_of, message_of, rebuilt, sign_message

BUDGET = Budget(20_000, 1_000, signatures=2)
_COMPUTE = Pubkey.from_string(COMPUTE_BUDGET)
_MEMORY_WRITE, _MEMORY_CLOSE, _ACCOUNT_INFO, _CLOCK, _MERKLE_TREE, _TREE_CONFIG = 0, 1, 5, 15, 16, 17


@dataclass
class Case:
    """A transaction for a payer without SOL. Its recipient has no token account."""

    sponsor: Keypair = field(default_factory=Keypair)
    payer: Keypair = field(default_factory=Keypair)
    recipient: Pubkey = field(default_factory=lambda: Keypair().pubkey())
    source: Pubkey = field(default_factory=lambda: Keypair().pubkey())
    built: str = ""

    def __post_init__(self) -> None:
        moves = token_transfer(
            Mint(str(Keypair().pubkey()), TOKEN, 6),
            str(self.payer.pubkey()),
            str(self.recipient),
            [Part(str(self.source), 5_000_000)],
            bytes(range(16)),
            opened_by=str(self.sponsor.pubkey()),
        )
        self.built = unsigned(str(self.sponsor.pubkey()), moves, BUDGET, str(Hash.new_unique()))

    def read(self, text: str) -> bytes:
        payer, sponsor = str(self.payer.pubkey()), str(self.sponsor.pubkey())
        return read_signed(base64.b64decode(self.built), text, payer, sponsor).transaction

    def problem(self, message: MessageV0 | str) -> str:
        """Have the payer sign the message; return the reason why it is unfit."""
        text = message if isinstance(message, str) else sign_message(message, self.payer)
        with pytest.raises(SignatureError) as caught:
            self.read(text)
        return str(caught.value)


def asserting(kind: int, *accounts: Pubkey) -> Instruction:
    metas = [AccountMeta(each, is_signer=False, is_writable=False) for each in accounts]
    return Instruction(Pubkey.from_string(LIGHTHOUSE), bytes([kind, 0, 1, 2]), metas)


def is_budget(instruction: Instruction) -> bool:
    return instruction.program_id == _COMPUTE


# --- what is accepted -----------------------------------------------------------------------------------------------


def test_built_transaction_is_accepted_as_signed() -> None:
    case = Case()
    signed = sign_message(message_of(case.built), case.payer)
    payer, sponsor = str(case.payer.pubkey()), str(case.sponsor.pubkey())
    read = read_signed(base64.b64decode(case.built), signed, payer, sponsor)
    assert read.transaction == base64.b64decode(signed)
    assert read.signature == bytes(case.payer.sign_message(to_bytes_versioned(message_of(case.built))))
    assert read.fee == BUDGET.fee == 10_020


def test_signature_of_the_fee_payer_is_removed() -> None:
    case = Case()
    message = message_of(case.built)
    whole = sign_message(message, case.sponsor, case.payer)
    assert case.read(whole) == base64.b64decode(sign_message(message, case.payer))


@pytest.mark.parametrize("kind", range(2, 16))
def test_assertions_of_the_wallet_are_accepted(kind: int) -> None:
    case = Case()
    message = rebuilt(case.built, add=[asserting(kind, case.source), asserting(kind, case.payer.pubkey())])
    assert case.read(sign_message(message, case.payer))


def test_another_budget_below_the_maximum_is_accepted() -> None:
    case = Case()
    budget = [set_compute_unit_price(400_000), set_compute_unit_limit(100_000)]
    message = rebuilt(case.built, first=budget, keep=lambda each: not is_budget(each))
    signed = sign_message(message, case.payer)
    payer, sponsor = str(case.payer.pubkey()), str(case.sponsor.pubkey())
    assert (
        read_signed(base64.b64decode(case.built), signed, payer, sponsor).fee == MAX_SPONSORED_FEE == 50_000
    )


def test_signed_transaction_has_the_same_id_each_time() -> None:
    case = Case()
    key = bytes(case.sponsor).hex()
    read = case.read(sign_message(message_of(case.built), case.payer))
    first, second = sign(read, key), sign(read, key)
    assert (first, address_of(key)) == (second, str(case.sponsor.pubkey()))
    whole = VersionedTransaction.from_bytes(base64.b64decode(first.raw))
    assert str(whole.signatures[0]) == first.hash
    assert whole.verify_with_results() == [True, True]
    with pytest.raises(ValueError, match="fee payer"):
        sign(read, bytes(case.payer).hex())
    assert fee_payer_of(read) == str(case.sponsor.pubkey())


def test_budget_of_a_sponsored_transaction_is_capped() -> None:
    dear = Budget(500_000, 300_000, signatures=2)
    capped = dear.at_most(MAX_SPONSORED_FEE)
    assert (dear.fee, capped.units, capped.fee) == (160_000, 500_000, 50_000)
    assert BUDGET.at_most(MAX_SPONSORED_FEE) == BUDGET


# --- what is rejected -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [_MEMORY_WRITE, _MEMORY_CLOSE, _MERKLE_TREE, _TREE_CONFIG, 18, 255])
def test_memory_writes_and_calls_of_lighthouse_are_rejected(kind: int) -> None:
    case = Case()
    assert "only assertions" in case.problem(rebuilt(case.built, add=[asserting(kind, case.source)]))


def test_lighthouse_without_data_is_rejected() -> None:
    case = Case()
    empty = Instruction(Pubkey.from_string(LIGHTHOUSE), b"", [])
    assert "only assertions" in case.problem(rebuilt(case.built, add=[empty]))


def test_assertion_that_names_the_sponsor_is_rejected() -> None:
    case = Case()
    added = asserting(_ACCOUNT_INFO, case.sponsor.pubkey())
    assert "may not name the account" in case.problem(rebuilt(case.built, add=[added]))


def test_assertion_that_could_write_is_rejected() -> None:
    case = Case()
    meta = AccountMeta(Keypair().pubkey(), is_signer=False, is_writable=True)
    added = Instruction(Pubkey.from_string(LIGHTHOUSE), bytes([_CLOCK, 0]), [meta])
    assert "write to other accounts" in case.problem(rebuilt(case.built, add=[added]))


def test_transfer_from_the_sponsor_is_rejected() -> None:
    case = Case()
    theft = transfer(
        TransferParams(from_pubkey=case.sponsor.pubkey(), to_pubkey=case.payer.pubkey(), lamports=1_000_000)
    )
    assert "write to other accounts" in case.problem(rebuilt(case.built, add=[theft]))
    theft = transfer(TransferParams(from_pubkey=case.sponsor.pubkey(), to_pubkey=case.source, lamports=1))
    assert "other instructions" in case.problem(rebuilt(case.built, add=[theft]))


def test_missing_and_repeated_instructions_are_rejected() -> None:
    case = Case()
    token = Pubkey.from_string(TOKEN)
    without = rebuilt(case.built, keep=lambda each: each.program_id != token)
    assert case.problem(without)
    again = [each for each in instructions_of(message_of(case.built)) if each.program_id == token]
    assert "other instructions" in case.problem(rebuilt(case.built, add=again))
    with_changed_amount = rebuilt(
        case.built,
        change=lambda each: (
            Instruction(each.program_id, each.data[:1] + bytes([1]) + each.data[2:], each.accounts)
            if each.program_id == token
            else each
        ),
    )
    assert "other instructions" in case.problem(with_changed_amount)


def test_another_recipient_or_reference_is_rejected() -> None:
    case = Case()
    keys = message_of(case.built).account_keys
    for place, key in enumerate(keys[2:], start=2):
        changed = list(keys)
        changed[place] = Keypair().pubkey()
        message = message_of(case.built)
        other = MessageV0(message.header, changed, message.recent_blockhash, message.instructions, [])
        assert case.problem(other), key


def test_another_fee_payer_or_signer_is_rejected() -> None:
    case = Case()
    for stranger in (case.payer.pubkey(), Keypair().pubkey()):
        assert case.problem(rebuilt(case.built, fee_payer=stranger))
    meta = AccountMeta(Keypair().pubkey(), is_signer=True, is_writable=False)
    third = Instruction(Pubkey.from_string(LIGHTHOUSE), bytes([_CLOCK]), [meta])
    assert "other signers" in case.problem(rebuilt(case.built, add=[third]))


def test_another_blockhash_is_rejected() -> None:
    case = Case()
    assert "another blockhash" in case.problem(rebuilt(case.built, blockhash=Hash.new_unique()))


@pytest.mark.parametrize(
    ("budget", "problem"),
    [
        ([set_compute_unit_limit(100_000), set_compute_unit_price(400_001)], "too high"),
        ([set_compute_unit_price(2**64 - 1)], "too high"),
        # Without a compute limit, the maximum for a transaction applies.
        ([set_compute_unit_price(50_000)], "too high"),
        ([set_compute_unit_limit(1), set_compute_unit_limit(2)], "set twice"),
        ([set_compute_unit_price(1), set_compute_unit_price(1)], "set twice"),
        ([request_heap_frame(256 * 1024)], "Only a limit"),
        ([Instruction(_COMPUTE, b"\x02\x01\x00\x00", [])], "Only a limit"),
        ([Instruction(_COMPUTE, b"", [])], "Only a limit"),
    ],
)
def test_unfit_budgets_are_rejected(budget: list[Instruction], problem: str) -> None:
    case = Case()
    message = rebuilt(case.built, first=budget, keep=lambda each: not is_budget(each))
    assert problem in case.problem(message)


def test_budget_that_names_the_sponsor_is_rejected() -> None:
    case = Case()
    meta = AccountMeta(case.sponsor.pubkey(), is_signer=True, is_writable=True)
    named = Instruction(_COMPUTE, set_compute_unit_limit(1_000).data, [meta])
    message = rebuilt(case.built, first=[named], keep=lambda each: not is_budget(each))
    assert "Only a limit" in case.problem(message)


def test_lookup_tables_are_rejected() -> None:
    case = Case()
    message = message_of(case.built)
    table = MessageAddressTableLookup(Keypair().pubkey(), b"\x01", b"")
    other = MessageV0(
        message.header, message.account_keys, message.recent_blockhash, message.instructions, [table]
    )
    assert "lookup tables" in case.problem(other)


def test_older_version_of_the_message_is_rejected() -> None:
    case = Case()
    message = message_of(case.built)
    header = message.header
    legacy = Message.new_with_compiled_instructions(
        header.num_required_signatures,
        header.num_readonly_signed_accounts,
        header.num_readonly_unsigned_accounts,
        message.account_keys,
        message.recent_blockhash,
        message.instructions,
    )
    signatures = [Signature.default(), case.payer.sign_message(to_bytes_versioned(legacy))]
    whole = bytes(VersionedTransaction.populate(legacy, signatures))
    assert "another version" in case.problem(base64.b64encode(whole).decode())


def test_missing_and_wrong_signatures_are_rejected() -> None:
    case = Case()
    assert "lacks the signature" in case.problem(case.built)
    assert "lacks the signature" in case.problem(sign_message(message_of(case.built), case.sponsor))
    message = message_of(case.built)
    wrong = [Signature.default(), Keypair().sign_message(to_bytes_versioned(message))]
    whole = bytes(VersionedTransaction.populate(message, wrong))
    assert "invalid signature" in case.problem(base64.b64encode(whole).decode())


@pytest.mark.parametrize("text", ["", "!", "AQ==", "AQ", "é", "A" * 4_000, "gAAA" * 50])
def test_text_that_is_no_transaction_is_rejected(text: str) -> None:
    assert Case().problem(text)


def test_bytes_after_the_transaction_are_rejected() -> None:
    case = Case()
    signed = base64.b64decode(sign_message(message_of(case.built), case.payer))
    assert "extra bytes" in case.problem(base64.b64encode(signed + b"\0").decode())


def test_fee_counts_the_units_that_may_be_used() -> None:
    case = Case()
    message = rebuilt(case.built, keep=lambda each: not is_budget(each))
    assert highest_fee(read_message(base64.b64decode(sign_message(message, case.payer)))) == 10_000
