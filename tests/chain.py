"""A real local EVM chain, and a payer who signs with a key of his own and sends by raw RPC."""

import time
from dataclasses import dataclass
from typing import Any

from eth_account import Account

from demo.contracts import deploy
from demo.services.anvil import WALLET_KEY
from tests.processes import eventually

# anvil's ninth well-known account; the tests only ever pay into it.
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
        """Deploy the tokens and give the payer plenty of them."""
        payer = Account.from_key(WALLET_KEY).address
        deploy.deploy_local_tokens(url, payer)
        deploy.mint(url, deploy.USDC, payer, 10**12 * USDC_UNIT)
        return cls(url, chain_id, deploy.USDC, deploy.DAI)

    @property
    def payer(self) -> str:
        return str(Account.from_key(self.payer_key).address)

    def rpc(self, method: str, *params: Any) -> Any:
        """Return the result of one call to the node."""
        return deploy.rpc(self.url, method, *params)

    def sign(self, transaction: dict[str, Any], key: str | None = None) -> bytes:
        """Return the signed bytes of a transaction as `build-transaction` hands it out (hex quantities)."""
        account = Account.from_key(key or self.payer_key)
        nonce = int(self.rpc("eth_getTransactionCount", account.address, "pending"), 16)
        unsigned = {name: value for name, value in transaction.items() if name != "from"}
        return bytes(account.sign_transaction({**unsigned, "nonce": nonce}).raw_transaction)

    def send(self, transaction: dict[str, Any], key: str | None = None) -> str:
        """Sign with the payer's key, send by raw RPC and return the hash; mined, if the chain mines by itself."""
        return self.send_raw("0x" + self.sign(transaction, key).hex())

    def send_raw(self, raw: str) -> str:
        """Send signed bytes (hex) and return the hash; mined, if the chain mines by itself."""
        sent = str(self.rpc("eth_sendRawTransaction", raw))
        if self.rpc("anvil_getAutomine"):
            # The node answers a moment before it has mined.
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
        """Send a hand-made transfer with `tail` after its arguments; return its hash."""
        return self.send(self.unsigned_transfer(token, recipient, amount, tail=tail, gas=gas), key)

    def unsigned_transfer(
        self, token: str, recipient: str, amount: int, *, tail: bytes = b"", gas: int = 200_000
    ) -> dict[str, Any]:
        """Return a hand-made transfer (`token` empty: native coin) with `tail` after its arguments."""
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
        """Add empty blocks, a hundred per call: the node takes longer for each the more it has."""
        while blocks > 0:
            self.rpc("anvil_mine", hex(min(blocks, _BLOCKS_PER_CALL)))
            blocks -= _BLOCKS_PER_CALL

    def reorganise(self, depth: int = 1) -> None:
        """Replace the newest `depth` blocks by empty ones."""
        self.rpc("anvil_reorg", depth, [])
        self._set_clock()

    def revert(self, snapshot: str) -> None:
        """Go back to a snapshot of `evm_snapshot`."""
        self.rpc("evm_revert", snapshot)
        self._set_clock()

    def _set_clock(self) -> None:
        # The node's clock goes back with its blocks and stays behind: payments would be older than their requests.
        self.rpc("anvil_setTime", hex(int(time.time())))

    def token_balance(self, token: str, owner: str) -> int:
        """Return the base units of `token` that `owner` has."""
        return deploy.balance(self.url, token, owner)
