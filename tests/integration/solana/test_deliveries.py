"""What a bridge delivers is reported, whichever instruction moves it and however its accounts are named."""

from collections.abc import Sequence

from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import CreateAccountParams, create_account
from solders.transaction import VersionedTransaction
from spl.token import instructions as spl
from spl.token.constants import ACCOUNT_LEN, ASSOCIATED_TOKEN_PROGRAM_ID, TOKEN_PROGRAM_ID
from spl.token.models import CloseAccountParams, InitializeAccountParams

from chains.client import ChainClient, Mention, TransactionFacts, Transfer
from chains.families.solana.accounts import WRAPPED_SOL
from demo.solana import ledger as node_of
from demo.solana import mint
from tests.support.solana.actions import MEMO, make_table, memo
from tests.support.solana.ledger import LocalLedger, new_address, token_account
from tests.support.solana.scene import Mints


def deliver(
    ledger: LocalLedger, instructions: Sequence[Instruction], table: AddressLookupTableAccount
) -> str:
    """Send as an executor does: everything that can be is taken from a lookup table."""
    blockhash = node_of.latest_blockhash(ledger.url)
    message = MessageV0.try_compile(ledger.key.pubkey(), list(instructions), [table], blockhash)
    assert not set(message.account_keys) & set(table.addresses)
    return node_of.send_signed(ledger.url, VersionedTransaction(message, [ledger.key]))


def facts_of(client: ChainClient, signature: str) -> TransactionFacts:
    snapshot = client.look_up([signature], with_finality=True, mentioning=[str(MEMO)])
    facts = snapshot.transactions[signature]
    assert facts is not None
    assert facts.succeeded
    return facts


def to(recipient: str, token: str, facts: TransactionFacts) -> list[Transfer]:
    return [moved for moved in facts.transfers if (moved.recipient, moved.token) == (recipient, token)]


def test_tokens_to_an_account_that_only_a_table_names(client: ChainClient, local_ledger: LocalLedger) -> None:
    recipient = str(local_ledger.new_wallet(usdc=3).pubkey())
    target = token_account(recipient)
    table = make_table(local_ledger, [str(target), local_ledger.usdc])
    moves = local_ledger.token_move(recipient, 5, to_account=target)
    facts = facts_of(client, deliver(local_ledger, [memo("an id"), *moves], table))
    [moved] = to(recipient, local_ledger.usdc, facts)
    assert (moved.amount, moved.sender, moved.slot) == (5, local_ledger.payer, "1")
    assert (moved.account, moved.gain) == (str(target), 5)
    assert facts.mentions == (Mention(str(MEMO), b"an id"),)


def test_an_account_that_the_delivery_itself_makes(client: ChainClient, local_ledger: LocalLedger) -> None:
    recipient = new_address()
    table = make_table(local_ledger, [recipient, str(token_account(recipient)), local_ledger.usdc])
    moves = local_ledger.token_move(recipient, 5)
    facts = facts_of(client, deliver(local_ledger, moves, table))
    assert [moved.amount for moved in to(recipient, local_ledger.usdc, facts)] == [5]
    assert to(recipient, "", facts) == []  # the account's deposit is not the recipient's lamports


def test_coin_to_a_wallet_that_only_a_table_names(client: ChainClient, local_ledger: LocalLedger) -> None:
    recipient = new_address()
    table = make_table(local_ledger, [recipient])
    facts = facts_of(client, deliver(local_ledger, local_ledger.coin_move(recipient, 10**6), table))
    [moved] = to(recipient, "", facts)
    assert (moved.amount, moved.sender) == (10**6, local_ledger.payer)


def test_tokens_that_a_programs_own_call_moves(
    client: ChainClient, local_ledger: LocalLedger, mints: Mints
) -> None:
    """A program's call takes tokens from an account that is another account's, and gives them to the wallet."""
    wallet = local_ledger.new_wallet(lamports=10**9, usdc=3)
    owner, usdc = str(wallet.pubkey()), Pubkey.from_string(local_ledger.usdc)
    mint.mint_to(local_ledger.url, mints.other, wallet.pubkey(), 1, authority=local_ledger.key)
    holder = token_account(owner, str(mints.other))
    mint.mint_to(local_ledger.url, usdc, holder, 40)
    recover = _recover_nested(wallet, holder, mints.other, usdc)
    facts = facts_of(client, local_ledger.send([recover], wallet))
    [moved] = to(owner, local_ledger.usdc, facts)
    assert (moved.amount, moved.sender, moved.claimable, moved.made_by) == (40, str(holder), 0, "")
    assert to(str(holder), local_ledger.usdc, facts) == []


def test_each_part_to_one_recipient_is_a_transfer_and_shares_the_gain(
    client: ChainClient, local_ledger: LocalLedger
) -> None:
    recipient = new_address()
    moves = [*local_ledger.token_move(recipient, 5), *local_ledger.token_move(recipient, 6)]
    facts = facts_of(client, local_ledger.send(moves))
    found = [(moved.slot, moved.amount, moved.gain) for moved in to(recipient, local_ledger.usdc, facts)]
    assert found == [("1", 5, 11), ("3", 6, 11)]


def test_what_comes_and_goes_within_is_no_gain(client: ChainClient, local_ledger: LocalLedger) -> None:
    wallet = local_ledger.new_wallet(lamports=10**9, usdc=3)
    owner = str(wallet.pubkey())
    there = local_ledger.token_move(owner, 5)
    back = local_ledger.token_move(local_ledger.payer, 5, sender=wallet)
    facts = facts_of(client, local_ledger.send([*there, *back], local_ledger.key, wallet))
    [moved] = to(owner, local_ledger.usdc, facts)
    assert (moved.amount, moved.gain, moved.claimable) == (5, 0, 0)


def _recover_nested(wallet: Keypair, holder: Pubkey, holders_mint: Pubkey, token: Pubkey) -> Instruction:
    nested = token_account(str(holder), str(token))
    target = token_account(str(wallet.pubkey()), str(token))
    return Instruction(
        ASSOCIATED_TOKEN_PROGRAM_ID,
        b"\x02",
        [
            AccountMeta(nested, is_signer=False, is_writable=True),
            AccountMeta(token, is_signer=False, is_writable=False),
            AccountMeta(target, is_signer=False, is_writable=True),
            AccountMeta(holder, is_signer=False, is_writable=False),
            AccountMeta(holders_mint, is_signer=False, is_writable=False),
            AccountMeta(wallet.pubkey(), is_signer=True, is_writable=True),
            AccountMeta(TOKEN_PROGRAM_ID, is_signer=False, is_writable=False),
        ],
    )


def test_coin_that_is_unwrapped_to_a_wallet(client: ChainClient, local_ledger: LocalLedger) -> None:
    """Bridges wrap native coin into an account of their own and close it to the recipient."""
    recipient, key, account = new_address(), local_ledger.key, Keypair()
    rent = local_ledger.rpc("getMinimumBalanceForRentExemption", ACCOUNT_LEN)
    opened = create_account(
        CreateAccountParams(
            from_pubkey=key.pubkey(),
            to_pubkey=account.pubkey(),
            lamports=rent + 10**6,
            space=ACCOUNT_LEN,
            owner=TOKEN_PROGRAM_ID,
        )
    )
    wrapped = spl.initialize_account(
        InitializeAccountParams(
            program_id=TOKEN_PROGRAM_ID,
            account=account.pubkey(),
            mint=Pubkey.from_string(WRAPPED_SOL),
            owner=key.pubkey(),
        )
    )
    closed = spl.close_account(
        CloseAccountParams(
            program_id=TOKEN_PROGRAM_ID,
            account=account.pubkey(),
            dest=Pubkey.from_string(recipient),
            owner=key.pubkey(),
        )
    )
    facts = facts_of(client, local_ledger.send([opened, wrapped, closed], key, account))
    [moved] = to(recipient, "", facts)
    assert (moved.slot, moved.amount, moved.gain) == ("2", rent + 10**6, rent + 10**6)
    assert (moved.sender, moved.claimable, moved.made_by) == ("", 0, "")
