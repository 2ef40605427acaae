"""The code that the demo wallet's account delegates to (EIP-7702)."""

import pytest
from eth_account import Account
from eth_utils.crypto import keccak

from chains.families.evm.authorizations import typed_data
from demo.contracts import accounts, deploy
from tests.chain import LocalChain
from tests.integration.chains.test_authorizations import AMOUNT, World
from tests.integration.chains.test_authorizations import world as world
from tests.support.threats.evm_world import World as Contracts
from tests.support.threats.real_accounts import DelegatedAccount, call_data, execute_batch

VALID, INVALID = "1626ba7e", "ffffffff"


@pytest.fixture
def contracts(local_chain: LocalChain) -> Contracts:
    return Contracts(local_chain)


@pytest.fixture
def account(contracts: Contracts) -> DelegatedAccount:
    accounts.deploy_delegate(contracts.chain.url)
    accounts.deploy_delegate(contracts.chain.url)  # as when the local world starts a second time
    return contracts.delegated(accounts.DELEGATE)


def transfer(contracts: Contracts, amount: int) -> tuple[str, int, bytes]:
    data = call_data("transfer(address,uint256)", contracts.chain.recipient, amount)
    return contracts.chain.usdc, 0, data


def test_batch_is_executed_as_a_whole_or_not_at_all(contracts: Contracts, account: DelegatedAccount) -> None:
    chain = contracts.chain
    before = chain.token_balance(chain.usdc, chain.recipient)
    failed = account.run(execute_batch(transfer(contracts, 5), transfer(contracts, 10**20)))
    assert not contracts.succeeded(failed)
    assert chain.token_balance(chain.usdc, chain.recipient) == before
    assert contracts.succeeded(account.run(execute_batch(transfer(contracts, 5), transfer(contracts, 7))))
    assert chain.token_balance(chain.usdc, chain.recipient) == before + 12


def test_batch_of_another_account_is_rejected(contracts: Contracts, account: DelegatedAccount) -> None:
    batch = execute_batch(transfer(contracts, 5))
    before = contracts.chain.token_balance(contracts.chain.usdc, account.address)
    assert not contracts.succeeded(account.run(batch, key=contracts.chain.payer_key))
    assert contracts.chain.token_balance(contracts.chain.usdc, account.address) == before


def test_account_confirms_only_its_own_keys_signature(
    contracts: Contracts, account: DelegatedAccount
) -> None:
    digest = keccak(b"anything")
    for key, expected in ((account.key, VALID), (Account.create().key, INVALID)):
        signature = bytes(Account.unsafe_sign_hash(digest, key).signature)
        for given, answer in ((signature, expected), (signature[:64], INVALID)):
            data = call_data("isValidSignature(bytes32,bytes)", digest, given)
            result = contracts.chain.rpc(
                "eth_call", {"to": account.address, "data": "0x" + data.hex()}, "latest"
            )
            assert result[2:10] == answer


def test_delegated_account_still_pays_by_signature(account: DelegatedAccount, world: World) -> None:
    """The token checks the signature with the account's code, not with its key."""
    payer = Account.from_key(account.key)
    mine = World(world.chain, world.client, world.domain, payer)
    deploy.mint(world.chain.url, world.domain.token, payer.address, AMOUNT)
    authorization = mine.authorization()
    call = typed_data.transfer_call(authorization, mine.sign(authorization))
    [moved] = mine.moved(mine.relay(call.data))
    assert (moved.sender, moved.amount) == (account.address, AMOUNT)
