"""Transfers by signature on a real chain, with a token that writes the same logs as USDC."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_account import Account

from chains.client import ChainError, Transfer
from chains.facts.authorizations import TokenDomain, TransferAuthorization
from chains.families.evm.authorizations import typed_data
from chains.families.evm.client import EvmClient
from demo.contracts import deploy
from demo.services.anvil import MERCHANT_KEY
from tests.chain import LocalChain

REFERENCE = bytes(range(16))
BY_BYTES = "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"
AMOUNT = 12_500_000


@dataclass(frozen=True)
class World:
    """A token with authorizations, and a payer who has the token but no native coin."""

    chain: LocalChain
    client: EvmClient
    domain: TokenDomain
    payer: Any

    def authorization(self, **different: Any) -> TransferAuthorization:
        made = TransferAuthorization(
            domain=self.domain,
            payer=self.payer.address,
            recipient=self.chain.recipient,
            amount=AMOUNT,
            valid_before=self.time() + 600,
            nonce=typed_data.nonce_of(REFERENCE, f"rt_{Account.create().address}"),
        )
        return replace(made, **different)

    def time(self) -> int:
        return int(self.chain.rpc("eth_getBlockByNumber", "latest", False)["timestamp"], 16)

    def height(self) -> int:
        return int(self.chain.rpc("eth_blockNumber"), 16)

    def sign(self, authorization: TransferAuthorization) -> bytes:
        data = typed_data.typed_data(authorization)
        signature = Account.sign_typed_data(self.payer.key, full_message=data).signature
        return typed_data.read_signature("0x" + signature.hex())

    def relay(self, data: bytes, *, to: str | None = None) -> str:
        """Send the call from an account other than the payer's; return the hash."""
        sent = deploy.send(self.chain.url, MERCHANT_KEY, to=to or self.domain.token, data=data)
        return str(sent["transactionHash"])

    def moved(self, transaction_hash: str) -> tuple[Transfer, ...]:
        facts = self.client.look_up([transaction_hash], with_finality=False).transactions[transaction_hash]
        assert facts is not None
        assert facts.block is not None
        return facts.transfers


@pytest.fixture
def world(local_chain: LocalChain) -> World:
    token = deploy.deploy_token(
        local_chain.url, artifact="AuthorizedToken", name="USD Coin", symbol="USDC", decimals=6
    )
    payer = Account.create()
    deploy.mint(local_chain.url, token, payer.address, 100 * AMOUNT)
    domain = TokenDomain(local_chain.chain_id, token, "USD Coin", "2")
    return World(local_chain, EvmClient([local_chain.url], local_chain.chain_id), domain, payer)


def test_payer_without_coin_pays_by_signature(world: World) -> None:
    authorization = world.authorization()
    hash_ = world.relay(typed_data.transfer_call(authorization, world.sign(authorization)).data)
    [transfer] = world.moved(hash_)
    assert (transfer.sender, transfer.recipient, transfer.amount) == (
        world.payer.address, world.chain.recipient, AMOUNT,
    )  # fmt: skip
    assert (transfer.authorization, transfer.references, transfer.made_by) == (authorization.nonce, (), "")


def test_reference_that_the_sender_appends_is_none(world: World) -> None:
    authorization = world.authorization()
    call = typed_data.transfer_call(authorization, world.sign(authorization))
    [transfer] = world.moved(world.relay(call.data + REFERENCE))
    assert (transfer.authorization, transfer.references, transfer.is_marked) == (
        authorization.nonce,
        (),
        False,
    )


def test_overload_with_bytes_is_the_same_transfer(world: World) -> None:
    authorization = world.authorization()
    types = ["address", "address", "uint256", "uint256", "uint256", "bytes32", "bytes"]
    arguments = [
        authorization.payer, authorization.recipient, AMOUNT, 0, authorization.valid_before, authorization.nonce,
        world.sign(authorization),
    ]  # fmt: skip
    [transfer] = world.moved(world.relay(typed_data.selector(BY_BYTES) + encode(types, arguments)))
    assert transfer.authorization == authorization.nonce


def test_authorization_inside_another_call_is_the_payers(world: World) -> None:
    """A stranger copies the signature and sends it through a contract, with a foreign reference at the end."""
    authorization = world.authorization()
    call = typed_data.transfer_call(authorization, world.sign(authorization))
    batch = deploy.deploy_contract(world.chain.url, "OpenBatch")
    calls = encode(["(address,uint256,bytes)[]"], [[(world.domain.token, 0, call.data + REFERENCE)]])
    data = typed_data.selector("executeBatch((address,uint256,bytes)[])") + calls + REFERENCE
    [transfer] = world.moved(world.relay(data, to=batch))
    assert (transfer.authorization, transfer.references, transfer.made_by) == (authorization.nonce, (), "")


def test_state_is_that_of_the_block_with_its_own_time(world: World) -> None:
    authorization = world.authorization()
    before = world.height()
    world.relay(typed_data.transfer_call(authorization, world.sign(authorization)).data)
    after = world.height()
    other = replace(authorization, nonce=bytes(32))
    keys = [authorization.key, other.key]
    earlier = world.client.authorizations.states(keys, at_block=before)
    assert dict(earlier.used) == {authorization.key: False, other.key: False}
    later = world.client.authorizations.states(keys, at_block=after)
    assert dict(later.used) == {authorization.key: True, other.key: False}
    assert (later.block.number, int(later.block.time.timestamp())) == (after, world.time())


def test_state_of_a_missing_block_is_no_answer(world: World) -> None:
    with pytest.raises(ChainError):
        world.client.authorizations.states([world.authorization().key], at_block=world.height() + 1000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"amount": AMOUNT + 1}, "invalid signature"),
        ({"recipient": "0x" + "77" * 20}, "invalid signature"),
        ({"valid_before": 1}, "expired"),
    ],
)
def test_changed_terms_are_rejected_by_the_token(world: World, change: dict[str, Any], message: str) -> None:
    authorization = world.authorization()
    signature = world.sign(authorization)
    call = typed_data.transfer_call(replace(authorization, **change), signature)
    with pytest.raises(deploy.ChainRefusal, match=message):
        world.chain.rpc("eth_call", {"to": call.to, "data": "0x" + call.data.hex()}, "latest")


def test_nonce_moves_the_token_once(world: World) -> None:
    authorization = world.authorization()
    data = typed_data.transfer_call(authorization, world.sign(authorization)).data
    world.relay(data)
    with pytest.raises(deploy.ChainRefusal):
        world.relay(data)
    assert world.chain.token_balance(world.domain.token, world.payer.address) == 99 * AMOUNT
