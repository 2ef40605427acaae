"""The balances of a wallet are read in one round trip."""

from chains.families.solana.client import SolanaClient
from demo.services import surfnet
from tests.fault_proxy import proxying
from tests.support.solana.accounts import make_fee_mint, open_account
from tests.support.solana.ledger import LocalLedger, new_address

FROZEN = 2


def test_all_balances_are_read_in_one_round_trip(local_ledger: LocalLedger) -> None:
    wallet = local_ledger.new_wallet(lamports=10**9, usdc=7)
    owner = str(wallet.pubkey())
    local_ledger.send(local_ledger.token_move(owner, 5, to_account=open_account(local_ledger, owner)))
    newer = make_fee_mint(local_ledger, holder_units=3)
    unknown = new_address()
    with proxying(local_ledger.url) as node:
        client = SolanaClient([node.url], surfnet.CHAIN_ID, "local")
        client.chain_id()
        before = node.round_trips
        asked = ["", local_ledger.usdc, newer, unknown]
        held = client.balances(owner, asked)
        assert node.round_trips == before + 1
        assert held == {"": 10**9, local_ledger.usdc: 12, newer: 0, unknown: 0}
        assert client.balances(local_ledger.payer, [newer]) == {newer: 3}


def test_unused_wallet_has_no_balances(local_ledger: LocalLedger) -> None:
    client = SolanaClient([local_ledger.url], surfnet.CHAIN_ID, "local")
    assert client.balances(new_address(), ["", local_ledger.usdc]) == {"": 0, local_ledger.usdc: 0}


def test_frozen_tokens_are_not_in_the_balance(local_ledger: LocalLedger) -> None:
    client = SolanaClient([local_ledger.url], surfnet.CHAIN_ID, "local")
    owner = str(local_ledger.new_wallet(usdc=7).pubkey())
    assert client.balances(owner, [local_ledger.usdc]) == {local_ledger.usdc: 7}
    local_ledger.rpc("surfnet_setTokenAccount", owner, local_ledger.usdc, {"state": "frozen"})
    assert client.balances(owner, [local_ledger.usdc]) == {local_ledger.usdc: 0}


def test_no_approval_is_needed_and_inner_calls_are_known(local_ledger: LocalLedger) -> None:
    client = SolanaClient([local_ledger.url], surfnet.CHAIN_ID, "local")
    assert client.allowance(local_ledger.usdc, new_address(), new_address()) == 2**256 - 1
    assert client.can_prove_internal_transfers()
