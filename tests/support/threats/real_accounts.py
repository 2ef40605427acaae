"""Real smart accounts on the local chain, with their published code: Safes, ERC-4337 and EIP-7702 accounts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from eth_abi.abi import encode
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from tests.chain import LocalChain
from tests.support.contracts import creation_code

ZERO_ADDRESS = "0x" + "00" * 20
ENTRY_POINTS = {
    "0.6": "0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789",
    "0.7": "0x0000000071727De22E5E9d8BAf0edAc6f37da032",
    "0.8": "0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108",
    "0.9": "0x433709009B8330FDa32311DF1C2AFA402eD8D009",
}
# (package, proxy, singleton, singleton for layer 2, MultiSend, MultiSendCallOnly)
_ARTIFACTS = "build/artifacts/contracts"
SAFES = {
    "1.3.0": ("proxies/GnosisSafeProxy.sol/GnosisSafeProxy", "GnosisSafe", "GnosisSafeL2"),
    "1.4.1": ("proxies/SafeProxy.sol/SafeProxy", "Safe", "SafeL2"),
    "1.5.0": ("proxies/SafeProxy.sol/SafeProxy", "Safe", "SafeL2"),
}
MULTI_SENDS = {
    ("1.3.0", "MultiSend"): "0xA238CBeb142c10Ef7Ad8442C6D1f9E89e07e7761",
    ("1.3.0", "MultiSendCallOnly"): "0x40A2aCCbd92BCA938b02010E17A5b8929b49130D",
    ("1.4.1", "MultiSend"): "0x38869bf66a61cF6bDB996A6aE40D5853Fd43B526",
    ("1.4.1", "MultiSendCallOnly"): "0x9641d764fc13c8B624c04430C7356C1C7C8102e2",
    ("1.5.0", "MultiSend"): "0x218543288004CD07832472D464648173c77D7eB7",
    ("1.5.0", "MultiSendCallOnly"): "0xA83c336B20401Af773B6219BA5027174338D1836",
}
SIMPLE_7702 = "0xe6Cae83BdE06E4c305530e199D7217f42808555B"
METAMASK_7702 = "0x63c0c19a282a1B52b07dD5a65b58948A07DAE32B"
PACKED_OPERATION = "(address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)"
FIRST_OPERATION = (
    "(address,uint256,bytes,bytes,uint256,uint256,uint256,uint256,uint256,bytes,bytes)"  # of v0.6
)
_GAS = 10_000_000


def call_data(signature: str, *arguments: Any) -> bytes:
    """Return a call's input. An example of a signature: `transfer(address,uint256)`."""
    types = _types(signature[signature.index("(") + 1 : -1])
    return keccak(text=signature)[:4] + encode(types, arguments)


def _types(text: str) -> list[str]:
    types, depth = [""], 0
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            types.append("")
        else:
            types[-1] += letter
    return [type_ for type_ in types if type_]


def new_key() -> str:
    return "0x" + bytes(Account.create().key).hex()


@dataclass
class Contracts:
    """The published contracts that tests have put on a chain."""

    chain: LocalChain
    placed: dict[str, str] = field(default_factory=dict)

    def send(
        self, to: str | None, data: bytes, *, value: int = 0, key: str | None = None, **more: Any
    ) -> str:
        """Send a transaction; return its hash."""
        transaction: dict[str, Any] = {
            "chainId": self.chain.chain_id,
            "value": value,
            "data": "0x" + data.hex(),
            "gas": _GAS,
            "maxFeePerGas": 10**11,
            "maxPriorityFeePerGas": 10**9,
            **more,
        }
        return self.chain.send(transaction if to is None else {**transaction, "to": to}, key)

    def deploy(self, code: bytes) -> str:
        """Deploy a contract; return its address."""
        receipt = self.chain.rpc("eth_getTransactionReceipt", self.send(None, code))
        return to_checksum_address(receipt["contractAddress"])

    def once(self, name: str, code: bytes) -> str:
        """Return the only contract of this name. The first call deploys it."""
        if name not in self.placed:
            self.placed[name] = self.deploy(code)
        return self.placed[name]

    def at(self, address: str, code: bytes) -> str:
        """Deploy `code`, and copy the result to its address on the real chains.

        If the code contains its own address, adjust it.
        """
        if address not in self.placed:
            deployed = self.deploy(code)
            found = self.chain.rpc("eth_getCode", deployed, "latest")
            self.chain.rpc("anvil_setCode", address, found.replace(deployed[2:].lower(), address[2:].lower()))
            self.placed[address] = address
        return address

    def singleton(self, version: str, *, layer_2: bool = False) -> str:
        name = SAFES[version][2 if layer_2 else 1]
        return self.once(
            f"{name} {version}", creation_code(f"safe-{version}", f"{_ARTIFACTS}/{name}.sol/{name}.json")
        )

    def multi_send(self, version: str, name: str) -> str:
        """Return a MultiSend library at the same address as on the real chains."""
        path = f"{_ARTIFACTS}/libraries/{name}.sol/{name}.json"
        return self.at(MULTI_SENDS[version, name], creation_code(f"safe-{version}", path))

    def safe_proxy(self, version: str, singleton: str) -> str:
        """Deploy a Safe's proxy for the singleton."""
        proxy = creation_code(f"safe-{version}", f"{_ARTIFACTS}/{SAFES[version][0]}.json")
        return self.deploy(proxy + encode(["address"], [singleton]))

    def safe(self, version: str = "1.4.1", *, layer_2: bool = False) -> "RealSafe":
        key = new_key()
        address = self.safe_proxy(version, self.singleton(version, layer_2=layer_2))
        self.send(
            address,
            call_data(
                "setup(address[],uint256,address,bytes,address,address,uint256,address)",
                [Account.from_key(key).address], 1, ZERO_ADDRESS, b"", ZERO_ADDRESS, ZERO_ADDRESS, 0, ZERO_ADDRESS,
            ),
        )  # fmt: skip
        return RealSafe(self, address, key, version)

    def entry_point(self, version: str = "0.7") -> str:
        """Return the EntryPoint at the same address as on the real chains."""
        code = creation_code(f"account-abstraction-{version}", "artifacts/EntryPoint.json")
        return self.at(ENTRY_POINTS[version], code)

    def account(self, version: str = "0.7") -> "RealAccount":
        """Deploy a SimpleAccount with one owner, using its factory."""
        key, entry_point = new_key(), self.entry_point(version)
        code = creation_code(f"account-abstraction-{version}", "artifacts/SimpleAccountFactory.json")
        factory = self.once(f"SimpleAccountFactory {version}", code + encode(["address"], [entry_point]))
        owner = Account.from_key(key).address
        create = call_data("createAccount(address,uint256)", owner, 0)
        if version in ("0.6", "0.7"):
            self.send(factory, create)
        else:  # the EntryPoint accepts only its own creator
            creator = self.read(entry_point, call_data("senderCreator()"))
            self.chain.rpc("anvil_setBalance", creator, hex(10**18))
            self.chain.rpc("anvil_impersonateAccount", creator)
            self.chain.rpc(
                "eth_sendTransaction",
                {"from": creator, "to": factory, "data": "0x" + create.hex(), "gas": hex(_GAS)},
            )
            self.chain.mine()
        address = self.read(factory, call_data("getAddress(address,uint256)", owner, 0))
        return RealAccount(self, address, key, entry_point, version)

    def delegate(self, address: str) -> str:
        """Return an EIP-7702 delegate at the same address as on the real chains."""
        if address == SIMPLE_7702:
            code = creation_code("account-abstraction-0.8", "artifacts/Simple7702Account.json")
        else:
            path = "dist/bytecode/EIP7702StatelessDeleGator.cjs"
            code = creation_code("@metamask/delegation-abis", path)
            code += encode(["address", "address"], ["0x" + "dd" * 20, ENTRY_POINTS["0.7"]])
        return self.at(address, code)

    def delegated(self, delegate: str) -> "DelegatedAccount":
        """Return a new account with the delegate's code (EIP-7702)."""
        account = DelegatedAccount(self, new_key())
        self.chain.rpc("anvil_setBalance", account.address, hex(10**18))
        account.delegate_to(delegate)
        return account

    def read(self, to: str, data: bytes) -> str:
        """Return the address that a contract's call returns."""
        answer = self.chain.rpc("eth_call", {"to": to, "data": "0x" + data.hex()}, "latest")
        return to_checksum_address("0x" + answer[-40:])


@dataclass
class RealSafe:
    contracts: Contracts
    address: str
    key: str
    version: str
    proposed: str = ""

    def execution(
        self,
        to: str,
        data: bytes,
        *,
        value: int = 0,
        operation: int = 0,
        safe_gas: int = 0,
        gas_price: int = 0,
        refund_to: str = ZERO_ADDRESS,
        signature_tail: bytes = b"",
    ) -> bytes:
        """Return the input of an `execTransaction` that the owner signed. Sets `proposed` to its `safeTxHash`."""
        rpc = self.contracts.chain.rpc
        nonce = int(rpc("eth_call", {"to": self.address, "data": "0xaffed0e0"}, "latest"), 16)
        terms = (to, value, data, operation, safe_gas, 0, gas_price, ZERO_ADDRESS, refund_to)
        types = "address,uint256,bytes,uint8,uint256,uint256,uint256,address,address"
        question = call_data(f"getTransactionHash({types},uint256)", *terms, nonce)
        digest = rpc("eth_call", {"to": self.address, "data": "0x" + question.hex()}, "latest")
        signed = Account.unsafe_sign_hash(bytes.fromhex(digest[2:]), self.key)
        self.proposed = digest
        return call_data(f"execTransaction({types},bytes)", *terms, signed.signature + signature_tail)

    def multi_send(
        self, *calls: tuple[str, int, bytes], library: str = "MultiSendCallOnly", operation: int = 0
    ) -> bytes:
        """Return the input of an execution that makes several calls with MultiSend."""
        packed = b"".join(
            bytes([operation]) + bytes.fromhex(to[2:]) + value.to_bytes(32) + len(data).to_bytes(32) + data
            for to, value, data in calls
        )
        at = self.contracts.multi_send(self.version, library)
        return self.execution(at, call_data("multiSend(bytes)", packed), operation=1)

    def send(self, execution: bytes, tail: bytes = b"") -> str:
        """Have another account send the execution, with `tail` after it; return the hash."""
        sent = self.contracts.send(self.address, execution + tail)
        assert self.contracts.chain.rpc("eth_getTransactionReceipt", sent)["status"] == "0x1"
        return sent


@dataclass
class RealAccount:
    """An ERC-4337 account with one owner."""

    contracts: Contracts
    address: str
    key: str
    entry_point: str
    version: str
    next_nonce: int = 0
    proposed: str = ""

    def operation(
        self,
        call: bytes,
        *,
        paymaster: str = "",
        paymaster_tail: bytes = b"",
        signature_tail: bytes = b"",
        init_code: bytes = b"",
    ) -> tuple[Any, ...]:
        """Return a signed user operation that calls the account with `call`.

        Sets `proposed` to the operation's hash.
        """
        gas, fee = 2_000_000, 10**9
        body: tuple[Any, ...]
        if self.version == "0.6":
            layout = FIRST_OPERATION
            body = (self.address, self.next_nonce, init_code, call, gas, gas, 100_000, fee, fee, b"")
        else:
            layout = PACKED_OPERATION
            both = gas.to_bytes(16) * 2
            paid_by = bytes.fromhex(paymaster[2:]) + both + paymaster_tail if paymaster else b""
            fees = fee.to_bytes(16) * 2
            body = (self.address, self.next_nonce, init_code, call, both, 100_000, fees, paid_by)
        self.next_nonce += 1
        question = call_data(f"getUserOpHash({layout})", (*body, b""))
        digest = self.contracts.chain.rpc(
            "eth_call", {"to": self.entry_point, "data": "0x" + question.hex()}, "latest"
        )
        self.proposed = digest
        if self.version in ("0.6", "0.7"):
            signed = Account.sign_message(encode_defunct(hexstr=digest), self.key).signature
        else:
            signed = Account.unsafe_sign_hash(bytes.fromhex(digest[2:]), self.key).signature
        return (*body, signed + signature_tail)

    def paying(self, token: str, recipient: str, amount: int, tail: bytes = b"") -> tuple[Any, ...]:
        """Return an operation that pays tokens, with `tail` after the transfer's arguments."""
        return self.operation(
            execute(token, 0, call_data("transfer(address,uint256)", recipient, amount) + tail)
        )


@dataclass
class DelegatedAccount:
    """An account with a private key that runs another contract's code (EIP-7702)."""

    contracts: Contracts
    key: str

    @property
    def address(self) -> str:
        return str(Account.from_key(self.key).address)

    def authorization(self, delegate: str, nonce: int) -> Any:
        """Return the account's signed authorization of this delegate, which is valid at this nonce."""
        terms = {"chainId": self.contracts.chain.chain_id, "address": delegate, "nonce": nonce}
        return Account.from_key(self.key).sign_authorization(terms)

    def delegate_to(self, delegate: str, *, authorization_nonce: int | None = None) -> str:
        """Delegate the account to this code in another account's transaction; return its hash."""
        nonce = int(self.contracts.chain.rpc("eth_getTransactionCount", self.address, "pending"), 16)
        wanted = nonce if authorization_nonce is None else authorization_nonce
        return self.contracts.send(
            ZERO_ADDRESS, b"", authorizationList=[self.authorization(delegate, wanted)]
        )

    def run(self, batch: bytes, *, to: str = "", key: str = "", **more: Any) -> str:
        """Send the batch to the account itself, signed with its key or `key`; return the hash."""
        return self.contracts.send(to or self.address, batch, key=key or self.key, **more)


def execute(to: str, value: int, data: bytes) -> bytes:
    return call_data("execute(address,uint256,bytes)", to, value, data)


def execute_batch(*calls: tuple[str, int, bytes]) -> bytes:
    """Return the input of an account's `executeBatch` (v0.8 and later)."""
    return call_data("executeBatch((address,uint256,bytes)[])", list(calls))


def execute_by_mode(*calls: tuple[str, int, bytes], mode: bytes = b"\1") -> bytes:
    """Return the input of ERC-7579's `execute`. The default mode is a batch."""
    batch = encode(["(address,uint256,bytes)[]"], [list(calls)])
    return call_data("execute(bytes32,bytes)", mode.ljust(32, b"\0"), batch)


def handle_ops(*operations: tuple[Any, ...], version: str = "0.7", beneficiary: str = "") -> bytes:
    layout = FIRST_OPERATION if version == "0.6" else PACKED_OPERATION
    return call_data(f"handleOps({layout}[],address)", list(operations), beneficiary or "0x" + "be" * 20)


def unsigned_execution(to: str, data: bytes) -> bytes:
    """Return the input of a Safe's `execTransaction` with an invented signature."""
    return call_data(
        "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
        to, 0, data, 0, 0, 0, 0, ZERO_ADDRESS, ZERO_ADDRESS, b"s" * 65,
    )  # fmt: skip


def hidden(execution: bytes, to: str, data: bytes) -> bytes:
    """Return the execution followed by the call that an Impostor makes in its place."""
    call = bytes.fromhex(to[2:]) + data
    return execution + call + len(call).to_bytes(32)


Calls = Sequence[tuple[str, int, bytes]]
