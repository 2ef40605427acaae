"""Deposit addresses on the local chain: the factory, payments to the addresses, and sweeps."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from eth_abi.abi import encode
from eth_account import Account
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from chains.families.base import Deposit, Sweep
from chains.families.evm.deposits.addresses import FACTORY, deposit_of
from chains.families.evm.deposits.calls import GAS_PER_SWEEP, factory_deployment, sweep_call
from demo.contracts import deploy
from tests.chain import LocalChain

SWEPT = "0x" + keccak(text="Swept(uint256)").hex()
SWEEP_FAILED = "0x" + keccak(text="SweepFailed(address,address)").hex()
TRANSFER = "0x" + keccak(text="Transfer(address,address,uint256)").hex()
NATIVE = "0x" + "00" * 20

# The order of `Trouble` in demo/contracts/Sweeps.sol.
NONE, REVERT, REVERT_LARGE, RETURN_LARGE, BURN_GAS, CALL_BACK = range(6)


def new_address() -> str:
    return str(Account.create().address)


def deposit_for(recipient: str, request_id: UUID | None = None) -> Deposit:
    return deposit_of(recipient, request_id or uuid4())


def call_data(signature: str, *arguments: Any) -> bytes:
    types = signature[signature.index("(") + 1 : -1]
    return keccak(text=signature)[:4] + encode(types.split(",") if types else [], arguments)


def forwarder_sweep(token: str) -> bytes:
    """Return the call to a forwarder's own `sweep`. An empty `token` means the native coin."""
    return call_data("sweep(address)", token or NATIVE)


@dataclass
class DepositWorld:
    """The local chain with the factory. `strangers_key` sends everything and belongs to no merchant."""

    chain: LocalChain
    strangers_key: str = field(default_factory=lambda: "0x" + bytes(Account.create().key).hex())

    def prepare(self) -> None:
        self.chain.rpc("anvil_setBalance", self.stranger, hex(10**24))
        if not self.code(FACTORY):
            deployment = factory_deployment()
            self.call(deployment.to, deployment.data)

    @property
    def stranger(self) -> str:
        return str(Account.from_key(self.strangers_key).address)

    def call(self, to: str, data: bytes = b"", *, value: int = 0, gas: int = 8_000_000) -> dict[str, Any]:
        """Have the stranger send a transaction; return its receipt, even if it failed."""
        transaction = {
            "chainId": self.chain.chain_id,
            "to": to,
            "value": value,
            "data": "0x" + data.hex(),
            "gas": gas,
            "maxFeePerGas": 10**11,
            "maxPriorityFeePerGas": 10**9,
        }
        sent = self.chain.send(transaction, self.strangers_key)
        receipt: dict[str, Any] = self.chain.rpc("eth_getTransactionReceipt", sent)
        return receipt

    def succeeded(self, to: str, data: bytes = b"", *, value: int = 0, gas: int = 8_000_000) -> bool:
        return int(self.call(to, data, value=value, gas=gas)["status"], 16) == 1

    def place(self, artifact: str, *, token: bool = False) -> str:
        """Deploy a contract of demo/contracts, or a token with six decimals."""
        arguments = encode(["string", "string", "uint8"], ["Odd", "ODD", 6]) if token else b""
        return deploy.deploy_contract(self.chain.url, artifact, arguments, key=self.strangers_key)

    def make_trouble(self, contract: str, kind: int, target: str = NATIVE, call_back: bytes = b"") -> None:
        data = call_data("setTrouble(uint8,address,bytes)", kind, target, call_back)
        assert self.succeeded(contract, data)

    def mint(self, token: str, to: str, units: int) -> None:
        deploy.mint(self.chain.url, token, to, units, key=self.strangers_key)

    def pay(self, to: str, units: int) -> None:
        assert self.succeeded(to, value=units)

    def sweep(self, *rows: tuple[str, Deposit, str], gas_per_sweep: int = GAS_PER_SWEEP) -> dict[str, Any]:
        """Have the stranger sweep these (recipient, deposit, token) with the factory; return the receipt."""
        sweeps = [Sweep(recipient, deposit.salt, token) for recipient, deposit, token in rows]
        call = sweep_call(sweeps, gas_per_sweep=gas_per_sweep)
        return self.call(call.to, call.data)

    def balance(self, token: str, owner: str) -> int:
        """Return the balance of a token, or of the native coin if `token` is empty."""
        return self.chain.token_balance(token, owner) if token else self.coins(owner)

    def coins(self, owner: str) -> int:
        return int(self.chain.rpc("eth_getBalance", owner, "latest"), 16)

    def code(self, address: str) -> bytes:
        return bytes.fromhex(self.chain.rpc("eth_getCode", address, "latest")[2:])


def failed_sweeps(receipt: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (deposit address, token) of each sweep that the factory reports as failed."""
    assert int(receipt["status"], 16) == 1
    return [
        (_address(log["topics"][1]), "" if int(log["topics"][2], 16) == 0 else _address(log["topics"][2]))
        for log in receipt["logs"]
        if log["topics"][0] == SWEEP_FAILED
    ]


def swept_coins(receipts: Sequence[dict[str, Any]], address: str) -> int:
    """Return the native coin that a forwarder logged as swept."""
    logs = [log for receipt in receipts for log in receipt["logs"]]
    return sum(
        int(log["data"], 16)
        for log in logs
        if log["topics"][0] == SWEPT and to_checksum_address(log["address"]) == address
    )


def _address(topic: str) -> str:
    return to_checksum_address("0x" + topic[-40:])
