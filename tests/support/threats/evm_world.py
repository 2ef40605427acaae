"""Smart wallets, bundles, batches and unusual tokens on the real chain."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from eth_abi.abi import encode
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_utils.address import to_checksum_address

from demo.contracts import deploy
from payments.models import ConsumedTransfer, Payment, PaymentRequest
from tests.chain import LocalChain
from tests.support.payments.world import Clock, look_until_decided, submit
from tests.support.threats.real_accounts import (
    ENTRY_POINTS,
    PACKED_OPERATION,
    ZERO_ADDRESS,
    Contracts,
    DelegatedAccount,
    RealAccount,
    RealSafe,
    call_data,
    execute,
    handle_ops,
)

__all__ = ["ENTRY_POINT", "ZERO_ADDRESS", "call_data", "execute", "handle_ops"]
ENTRY_POINT = ENTRY_POINTS["0.7"]
USDC_UNIT = 10**6
# The failure code of received money if no node can prove who paid.
UNPROVED = ("not_verifiable",)
_ARTIFACTS = Path(deploy.__file__).with_name("artifacts.json")


@cache
def _artifacts() -> dict[str, Any]:
    artifacts: dict[str, Any] = json.loads(_ARTIFACTS.read_text())
    return artifacts


def transfer_data(recipient: str, amount: int, tail: bytes = b"") -> bytes:
    """Return the input of a token's transfer with `tail` after its arguments."""
    return call_data("transfer(address,uint256)", recipient, amount) + tail


@dataclass
class World:
    """The chain, with everything that tests have put on it."""

    chain: LocalChain
    placed: dict[str, str] = field(default_factory=dict)

    def deploy(self, artifact: str, types: Sequence[str] = (), values: Sequence[Any] = ()) -> str:
        """Deploy a contract; return its address."""
        receipt = self.receipt(self.call(None, self.creation(artifact, types, values)))
        return to_checksum_address(receipt["contractAddress"])

    def creation(self, artifact: str, types: Sequence[str] = (), values: Sequence[Any] = ()) -> bytes:
        """Return the input of the transaction that deploys a contract."""
        return bytes.fromhex(_artifacts()[artifact]["bytecode"][2:]) + encode(list(types), list(values))

    def place(self, artifact: str) -> str:
        """Return the only contract of this kind. The first call deploys it."""
        if artifact not in self.placed:
            self.placed[artifact] = self.deploy(artifact)
        return self.placed[artifact]

    def token(self, artifact: str, key: str | None = None) -> str:
        """Deploy a token with six decimals; return its address."""
        return self.deploy(artifact, ["string", "string", "uint8"], ["USD Coin", "USDC", 6])

    @property
    def contracts(self) -> Contracts:
        return _contracts.setdefault(self.chain.url, Contracts(self.chain))

    def entry_point(self) -> str:
        """Return the EntryPoint (v0.7)."""
        return self.contracts.entry_point()

    def call(self, to: str | None, data: bytes = b"", value: int = 0, key: str | None = None) -> str:
        """Send a transaction; return its hash once it is mined, whether it succeeded or failed."""
        transaction: dict[str, Any] = {
            "chainId": self.chain.chain_id,
            "value": value,
            "data": "0x" + data.hex(),
            "gas": 6_000_000,
            "maxFeePerGas": 10**11,
            "maxPriorityFeePerGas": 10**9,
        }
        sent = self.chain.send(transaction if to is None else {**transaction, "to": to}, key)
        self.receipt(sent)
        return sent

    def receipt(self, transaction_hash: str) -> dict[str, Any]:
        receipt: dict[str, Any] | None = None
        while receipt is None:
            receipt = self.chain.rpc("eth_getTransactionReceipt", transaction_hash)
        return receipt

    def succeeded(self, transaction_hash: str) -> bool:
        return int(self.receipt(transaction_hash)["status"], 16) == 1

    def fund(self, account: str, *, usdc: int = 1000 * USDC_UNIT, coins: int = 10**18) -> None:
        deploy.mint(self.chain.url, self.chain.usdc, account, usdc, key=self.chain.payer_key)
        if coins:
            self.chain.rpc("anvil_setBalance", account, hex(coins))

    def stranger(self) -> str:
        """Return the private key of a new account with coins and test USDC."""
        account = Account.create()
        self.fund(account.address)
        return "0x" + bytes(account.key).hex()

    def coins(self, account: str) -> int:
        return int(self.chain.rpc("eth_getBalance", account, "latest"), 16)

    def safe(self, version: str = "1.4.1", *, layer_2: bool = False) -> RealSafe:
        safe = self.contracts.safe(version, layer_2=layer_2)
        self.fund(safe.address)
        return safe

    def account(self, version: str = "0.7") -> RealAccount:
        """Return a new, funded ERC-4337 account."""
        account = self.contracts.account(version)
        self.fund(account.address)
        return account

    def delegated(self, delegate: str) -> DelegatedAccount:
        """Return a new, funded account with the delegate's code (EIP-7702)."""
        account = self.contracts.delegated(delegate)
        self.fund(account.address, coins=10**20)
        return account

    def look_alike_safe(self) -> "Safe":
        """Return a new, funded wallet that works like a Safe but has unknown code."""
        key = "0x" + bytes(Account.create().key).hex()
        owner = Account.from_key(key).address
        address = self.deploy("SafeProxy", ["address", "address"], [self.place("SafeLike"), owner])
        self.fund(address)
        return Safe(self, address, key)

    def look_alike_account(self, entry_point: str) -> "SmartAccount":
        """Return a new, funded ERC-4337 account with unknown code."""
        key = "0x" + bytes(Account.create().key).hex()
        owner = Account.from_key(key).address
        address = self.deploy("AccountLike", ["address", "address"], [owner, entry_point])
        self.fund(address)
        return SmartAccount(self, address, key, entry_point)


_contracts: dict[str, Contracts] = {}


@dataclass
class Safe:
    """A wallet with one owner that works like a Safe."""

    world: World
    address: str
    key: str

    def execution(
        self,
        to: str,
        data: bytes,
        *,
        value: int = 0,
        operation: int = 0,
        safe_gas: int = 0,
        signature_tail: bytes = b"",
    ) -> bytes:
        """Return the input of an `execTransaction` that the owner signed."""
        rpc = self.world.chain.rpc
        nonce = int(rpc("eth_call", {"to": self.address, "data": "0xaffed0e0"}, "latest"), 16)
        question = call_data(
            "transactionHash(address,uint256,bytes,uint8,uint256,uint256)",
            to, value, data, operation, safe_gas, nonce,
        )  # fmt: skip
        digest = rpc("eth_call", {"to": self.address, "data": "0x" + question.hex()}, "latest")
        signed = Account.unsafe_sign_hash(bytes.fromhex(digest[2:]), self.key)
        return call_data(
            "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
            to, value, data, operation, safe_gas, 0, 0, ZERO_ADDRESS, ZERO_ADDRESS, signed.signature + signature_tail,
        )  # fmt: skip

    def multi_send(self, *calls: tuple[str, int, bytes]) -> bytes:
        """Return the input of an execution that makes several calls with MultiSend."""
        packed = b"".join(
            b"\0" + bytes.fromhex(to[2:]) + value.to_bytes(32) + len(data).to_bytes(32) + data
            for to, value, data in calls
        )
        library = self.world.place("MultiSend")
        return self.execution(library, call_data("multiSend(bytes)", packed), operation=1)

    def send(self, execution: bytes, tail: bytes = b"") -> str:
        """Have another account send the execution, with `tail` after it; return the hash."""
        sent = self.world.call(self.address, execution + tail)
        assert self.world.succeeded(sent)
        return sent


@dataclass
class SmartAccount:
    """An ERC-4337 account with one owner."""

    world: World
    address: str
    key: str
    entry_point: str
    next_nonce: int = 0

    def operation(self, call: bytes) -> tuple[Any, ...]:
        """Return a signed user operation that calls the account with `call`."""
        body = [self.address, self.next_nonce, b"", call, bytes(32), 0, bytes(32), b""]
        self.next_nonce += 1
        question = call_data(f"getUserOpHash({PACKED_OPERATION})", (*body, b""))
        digest = self.world.chain.rpc(
            "eth_call", {"to": self.entry_point, "data": "0x" + question.hex()}, "latest"
        )
        signed = Account.sign_message(encode_defunct(hexstr=digest), self.key)
        return (*body, signed.signature)

    def paying(self, token: str, recipient: str, amount: int, tail: bytes = b"") -> tuple[Any, ...]:
        """Return an operation that pays tokens, with `tail` after the transfer's arguments."""
        return self.operation(execute(token, 0, transfer_data(recipient, amount, tail)))


def decide(request: PaymentRequest, transaction_hash: str) -> Payment:
    """Submit the hash if necessary; run the engine until the payment is decided."""
    return look_until_decided(submit(request, transaction_hash), Clock())


def submit_all(transaction_hash: str, *requests: PaymentRequest) -> None:
    """Submit one hash to several requests before any lookup."""
    for request in requests:
        submit(request, transaction_hash)


def is_paid(request: PaymentRequest, transaction_hash: str) -> bool:
    payment = decide(request, transaction_hash)
    request.refresh_from_db()
    return payment.status == Payment.Status.COMPLETED and request.amount_remaining == 0


def refusal(request: PaymentRequest, transaction_hash: str) -> str | None:
    """Run the engine and return the failure code. Checks that nothing was credited to the request."""
    payment = decide(request, transaction_hash)
    request.refresh_from_db()
    assert request.amount_paid == 0
    assert request.status == PaymentRequest.Status.ACTIVE
    assert not ConsumedTransfer.objects.filter(payment=payment).exists()
    return payment.failure_code
