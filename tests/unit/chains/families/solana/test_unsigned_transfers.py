"""Built transfers do what they say, on a virtual machine without a node or network.

These tests run on every platform, even if Surfnet has no build for it.
"""

import base64
import struct

import pytest
from solders.compute_budget import ID as COMPUTE_BUDGET
from solders.keypair import Keypair
from solders.litesvm import LiteSVM
from solders.message import MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import CreateAccountParams, create_account
from solders.transaction import Transaction, VersionedTransaction
from spl.token import instructions as spl
from spl.token.constants import ACCOUNT_LEN, MINT_LEN, TOKEN_2022_PROGRAM_ID, TOKEN_PROGRAM_ID
from spl.token.models import InitializeAccountParams, InitializeMintParams, MintToParams

from chains.families.solana.references import reference_key
from chains.families.solana.unsigned_transfers import (
    Budget,
    Mint,
    Part,
    coin_transfer,
    token_account,
    token_transfer,
    unsigned,
)
from tests.support.solana.accounts import memo_required

REFERENCE = bytes(range(16))
BUDGET = Budget(units=60_000, price=1_000)
SOL = 10**9


class Bench:
    """A virtual machine with a payer who has SOL, and 1,000 tokens of one mint under either token program."""

    def __init__(self, program: Pubkey = TOKEN_PROGRAM_ID) -> None:
        self.svm = LiteSVM()
        self.payer, self.mint, self.program = Keypair(), Keypair(), program
        self.recipient = str(Keypair().pubkey())
        self.svm.airdrop(self.payer.pubkey(), 10 * SOL)
        payer, mint = self.payer.pubkey(), self.mint.pubkey()
        space = CreateAccountParams(
            from_pubkey=payer, to_pubkey=mint, lamports=SOL, space=MINT_LEN, owner=program
        )
        account = spl.get_associated_token_address(payer, mint, program)
        self._run(
            [
                create_account(space),
                spl.initialize_mint(
                    InitializeMintParams(program_id=program, mint=mint, mint_authority=payer, decimals=6)
                ),
                spl.create_idempotent_associated_token_account(payer, payer, mint, program),
                spl.mint_to(
                    MintToParams(
                        program_id=program, mint=mint, dest=account, mint_authority=payer, amount=10**9
                    )
                ),
            ],
            self.mint,
        )

    def _run(self, instructions: list, *signers: Keypair) -> None:
        blockhash = self.svm.latest_blockhash()
        message = MessageV0.try_compile(self.payer.pubkey(), instructions, [], blockhash)
        self.demand_success(VersionedTransaction(message, [self.payer, *signers]))

    @property
    def account(self) -> str:
        """The payer's associated account."""
        return token_account(str(self.payer.pubkey()), str(self.mint.pubkey()), str(self.program))

    def build(
        self,
        amount: int,
        *parts: Part,
        reference: bytes | None = REFERENCE,
        memo: str | None = None,
        recipient: str = "",
    ) -> VersionedTransaction:
        """Return the transfer of `amount` from the associated account and of these parts from others."""
        mint = Mint(str(self.mint.pubkey()), str(self.program), 6)
        sources = [Part(self.account, amount), *parts]
        payer = str(self.payer.pubkey())
        moves = token_transfer(
            mint, payer, recipient or self.recipient, sources, reference, memo=memo, opened_by=payer
        )
        return self._unsigned(moves)

    def open_accounts(self, count: int, amount: int) -> list[str]:
        """Open more token accounts of the payer, with `amount` in each."""
        payer, mint = self.payer.pubkey(), self.mint.pubkey()
        accounts = [Keypair() for _ in range(count)]
        for account in accounts:
            space = CreateAccountParams(
                from_pubkey=payer,
                to_pubkey=account.pubkey(),
                lamports=SOL // 100,
                space=ACCOUNT_LEN,
                owner=self.program,
            )
            opening = InitializeAccountParams(
                program_id=self.program, account=account.pubkey(), mint=mint, owner=payer
            )
            minted = MintToParams(
                program_id=self.program, mint=mint, dest=account.pubkey(), mint_authority=payer, amount=amount
            )
            steps = [create_account(space), spl.initialize_account(opening), spl.mint_to(minted)]
            self._run(steps, account)
        return [str(account.pubkey()) for account in accounts]

    def open_strict_account(self, owner: Keypair) -> None:
        """Open the owner's associated account. It accepts only transfers with a memo."""
        payer, mint = self.payer.pubkey(), self.mint.pubkey()
        self._run(
            [
                spl.create_idempotent_associated_token_account(payer, owner.pubkey(), mint, self.program),
                *memo_required(payer, owner.pubkey(), mint),
            ],
            owner,
        )

    def build_coin(self, amount: int, *, reference: bytes | None = REFERENCE) -> VersionedTransaction:
        return self._unsigned(coin_transfer(str(self.payer.pubkey()), self.recipient, amount, reference))

    def _unsigned(self, moves: list) -> VersionedTransaction:
        text = unsigned(str(self.payer.pubkey()), moves, BUDGET, str(self.svm.latest_blockhash()))
        return VersionedTransaction.from_bytes(base64.b64decode(text))

    def sign_and_run(self, transaction: VersionedTransaction) -> None:
        signature = self.payer.sign_message(to_bytes_versioned(transaction.message))
        self.demand_success(VersionedTransaction.populate(transaction.message, [signature]))

    def demand_success(self, transaction: VersionedTransaction | Transaction) -> None:
        result = self.svm.send_transaction(transaction)
        assert type(result).__name__ == "TransactionMetadata", result
        self.svm.expire_blockhash()

    def tokens_of(self, owner: str) -> int:
        address = token_account(owner, str(self.mint.pubkey()), str(self.program))
        account = self.svm.get_account(Pubkey.from_string(address))
        return int.from_bytes(account.data[64:72], "little") if account else 0


@pytest.fixture(params=[TOKEN_PROGRAM_ID, TOKEN_2022_PROGRAM_ID], ids=["classic", "token-2022"])
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(request.param)


def test_tokens_reach_a_wallet_that_has_no_account_for_them_yet(bench: Bench) -> None:
    bench.sign_and_run(bench.build(2_000_000))
    assert bench.tokens_of(bench.recipient) == 2_000_000
    assert bench.tokens_of(str(bench.payer.pubkey())) == 998_000_000


def test_it_may_be_built_again_when_the_account_is_there(bench: Bench) -> None:
    for _ in range(2):
        bench.sign_and_run(bench.build(2_000_000))
    assert bench.tokens_of(bench.recipient) == 4_000_000


def test_five_accounts_are_spent_in_one_transaction(bench: Bench) -> None:
    parts = [Part(account, 10) for account in bench.open_accounts(4, amount=10)]
    built = bench.build(1, *parts, memo="9" * 44)
    assert len(bytes(built)) <= 1_232  # a transaction's maximum size
    bench.sign_and_run(built)
    assert bench.tokens_of(bench.recipient) == 41
    place = built.message.account_keys.index(Pubkey.from_string(reference_key(REFERENCE)))
    moves = built.message.instructions[4::2]
    assert [move.accounts[-1] for move in moves] == [place] * 5


def test_memo_precedes_each_transfer_to_account_requiring_it() -> None:
    bench, owner = Bench(TOKEN_2022_PROGRAM_ID), Keypair()
    bench.open_strict_account(owner)
    recipient, (second,) = str(owner.pubkey()), bench.open_accounts(1, amount=10)
    plain = bench.build(5, recipient=recipient)
    signed = VersionedTransaction.populate(
        plain.message, [bench.payer.sign_message(to_bytes_versioned(plain.message))]
    )
    failed = bench.svm.send_transaction(signed)
    assert "No memo in previous instruction" in "".join(failed.meta().logs())
    bench.sign_and_run(bench.build(5, Part(second, 10), memo=reference_key(REFERENCE), recipient=recipient))
    assert bench.tokens_of(recipient) == 15


@pytest.mark.parametrize("reference", [REFERENCE, None])
def test_coin_reaches_a_new_wallet(reference: bytes | None) -> None:
    bench = Bench()
    bench.sign_and_run(bench.build_coin(SOL, reference=reference))
    assert bench.svm.get_balance(Pubkey.from_string(bench.recipient)) == SOL


def test_it_waits_for_one_signature_the_payers(bench: Bench) -> None:
    for built in (bench.build(1), bench.build_coin(1)):
        assert built.signatures == [Signature.default()]
        assert built.message.header.num_required_signatures == 1
        assert built.message.account_keys[0] == bench.payer.pubkey()
        assert isinstance(built.message, MessageV0)


def test_the_reference_is_a_read_only_key_on_the_transfer_alone(bench: Bench) -> None:
    for built in (bench.build(1), bench.build_coin(1)):
        message = built.message
        place = message.account_keys.index(Pubkey.from_string(reference_key(REFERENCE)))
        assert not message.is_signer(place)
        assert not message.is_maybe_writable(place)
        assert [place in instruction.accounts for instruction in message.instructions].count(True) == 1
        assert message.instructions[-1].accounts[-1] == place


def test_without_a_reference_there_is_no_such_key(bench: Bench) -> None:
    key = Pubkey.from_string(reference_key(REFERENCE))
    for built in (bench.build(1, reference=None), bench.build_coin(1, reference=None)):
        assert key not in built.message.account_keys


def test_compute_budget_comes_first_and_sets_the_exact_fee(bench: Bench) -> None:
    built = bench.build(1)
    message = built.message
    first = [
        bytes(i.data)
        for i in message.instructions
        if message.account_keys[i.program_id_index] == COMPUTE_BUDGET
    ]
    assert first == [struct.pack("<BI", 2, BUDGET.units), struct.pack("<BQ", 3, BUDGET.price)]
    assert BUDGET.fee == 5_000 + 60
    before = bench.svm.get_balance(bench.payer.pubkey()) or 0
    bench.sign_and_run(bench.build_coin(SOL))
    assert before - (bench.svm.get_balance(bench.payer.pubkey()) or 0) == SOL + BUDGET.fee


def test_part_of_a_lamport_is_paid_as_a_whole_one() -> None:
    assert Budget(units=1, price=1).fee == 5_001
    assert Budget(units=0, price=1).fee == 5_000


def test_signed_transaction_dies_with_its_blockhash(bench: Bench) -> None:
    built = bench.build(2_000_000)
    signed = VersionedTransaction.populate(
        built.message, [bench.payer.sign_message(to_bytes_versioned(built.message))]
    )
    bench.svm.expire_blockhash()
    result = bench.svm.send_transaction(signed)
    assert "BlockhashNotFound" in str(result.err())
    assert bench.tokens_of(bench.recipient) == 0
