"""A local EVM chain, and a payer who signs with a private key and sends by raw RPC."""

import time
from dataclasses import dataclass
from typing import Any

from eth_account import Account

from demo.contracts import deploy
from demo.services.anvil import WALLET_KEY
from tests.processes import eventually

# anvil's ninth test account. Tests send money to it and never from it.
RECIPIENT = "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f"
USDC_UNIT = 10**6
_BLOCKS_PER_CALL = 100


@dataclass(frozen=True)
class LocalChain:
    url: str
    chain_id: int
    usdc: str
    dai: str
    recipient: str = RECIPIENT
    payer_key: str = WALLET_KEY

    @classmethod
    def prepare(cls, url: str, chain_id: int) -> "LocalChain":
        """Deploy the tokens; give the payer a large balance of each."""
        payer = Account.from_key(WALLET_KEY).address
        deploy.deploy_local_tokens(url, payer)
        deploy.mint(url, deploy.USDC, payer, 10**12 * USDC_UNIT)
        return cls(url, chain_id, deploy.USDC, deploy.DAI)

    @property
    def payer(self) -> str:
        return str(Account.from_key(self.payer_key).address)

    def rpc(self, method: str, *params: Any) -> Any:
        return deploy.rpc(self.url, method, *params)

    def sign(self, transaction: dict[str, Any], key: str | None = None) -> bytes:
        """Sign a transaction in the format of `build-transaction` (hex quantities); return its bytes."""
        account = Account.from_key(key or self.payer_key)
        nonce = int(self.rpc("eth_getTransactionCount", account.address, "pending"), 16)
        unsigned = {name: value for name, value in transaction.items() if name != "from"}
        return bytes(account.sign_transaction({**unsigned, "nonce": nonce}).raw_transaction)

    def send(self, transaction: dict[str, Any], key: str | None = None) -> str:
        """Sign with the payer's key, send by raw RPC, return the hash.

        It is mined if the chain mines automatically.
        """
        return self.send_raw("0x" + self.sign(transaction, key).hex())

    def send_raw(self, raw: str) -> str:
        """Send signed bytes (hex), return the hash. It is mined if the chain mines automatically."""
        sent = str(self.rpc("eth_sendRawTransaction", raw))
        if self.rpc("anvil_getAutomine"):
            # The node returns the hash shortly before it has mined the transaction.
            eventually(
                lambda: self.rpc("eth_getTransactionReceipt", sent) is not None, f"{sent} was mined", 10
            )
        return sent

    def transfer(
        self,
        token: str,
        recipient: str,
        amount: int,
        *,
        tail: bytes = b"",
        gas: int = 200_000,
        key: str | None = None,
    ) -> str:
        """Send a transfer built here, with `tail` after its arguments; return its hash."""
        return self.send(self.unsigned_transfer(token, recipient, amount, tail=tail, gas=gas), key)

    def unsigned_transfer(
        self, token: str, recipient: str, amount: int, *, tail: bytes = b"", gas: int = 200_000
    ) -> dict[str, Any]:
        """Return a transfer built here, with `tail` after its arguments. An empty `token` means the native coin."""
        if token:
            arguments = recipient[2:].lower().rjust(64, "0") + hex(amount)[2:].rjust(64, "0")
            to, value, data = token, 0, "0xa9059cbb" + arguments + tail.hex()
        else:
            to, value, data = recipient, amount, "0x" + tail.hex()
        return {
            "chainId": self.chain_id,
            "to": to,
            "value": value,
            "data": data,
            "gas": gas,
            "maxFeePerGas": 10**11,
            "maxPriorityFeePerGas": 10**9,
        }

    def mine(self, blocks: int = 1) -> None:
        """Add empty blocks, a hundred per call, because the node gets slow with more."""
        while blocks > 0:
            self.rpc("anvil_mine", hex(min(blocks, _BLOCKS_PER_CALL)))
            blocks -= _BLOCKS_PER_CALL

    def reorganise(self, depth: int = 1) -> None:
        """Replace the newest `depth` blocks with empty ones."""
        self.rpc("anvil_reorg", depth, [])
        self._set_clock()

    def revert(self, snapshot: str) -> None:
        """Go back to a snapshot of `evm_snapshot`."""
        self.rpc("evm_revert", snapshot)
        self._set_clock()

    def _set_clock(self) -> None:
        # The revert also sets the node's clock back. Payments would then be older than their requests.
        self.rpc("anvil_setTime", hex(int(time.time())))

    def token_balance(self, token: str, owner: str) -> int:
        return deploy.balance(self.url, token, owner)
