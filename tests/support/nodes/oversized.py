"""A contract that writes the given number of empty logs and then pays, to create oversized transactions."""

from dataclasses import dataclass

from eth_utils.address import to_checksum_address

from demo.contracts import deploy
from tests.chain import LocalChain

ADDRESS = to_checksum_address("0x" + "10d" * 13 + "0")
# Input: the number of logs, a contract (one word each), and the input of the call that follows them.
# while (n) { log0(0, 0); n-- }   calldatacopy(0, 64, size - 64)   call(contract, 0, size - 64)   or revert
CODE = (
    "5f355b8015601257"  # n; loop: if n == 0 go on
    "5f5fa0600190036002" "56"  # log0; n -= 1; loop
    "5b604036038060405f37"  # size; calldatacopy
    "5f5f825f5f6020355af1"  # call
    "15602b57005b5f5ffd"  # stop, or revert
)  # fmt: skip
MAX_GAS = 16_500_000


@dataclass(frozen=True)
class Shouter:
    """The contract on a chain, with its own tokens."""

    chain: LocalChain

    @classmethod
    def place(cls, chain: LocalChain) -> "Shouter":
        """Deploy the contract and give it tokens."""
        chain.rpc("anvil_setCode", ADDRESS, "0x" + CODE)
        deploy.mint(chain.url, chain.usdc, ADDRESS, 10**12)
        return cls(chain)

    def pay(self, logs: int, recipient: str, amount: int, tail: bytes = b"") -> str:
        """Write this many logs and pay with the contract's tokens; return the hash once it is mined."""
        transfer = "a9059cbb" + recipient[2:].lower().rjust(64, "0") + f"{amount:064x}" + tail.hex()
        data = f"0x{logs:064x}" + self.chain.usdc[2:].lower().rjust(64, "0") + transfer
        gas = min(200_000 + 450 * logs, MAX_GAS)
        sent = self.chain.send(
            {
                "chainId": self.chain.chain_id,
                "to": ADDRESS,
                "value": 0,
                "data": data,
                "gas": gas,
                "maxFeePerGas": 10**11,
                "maxPriorityFeePerGas": 10**9,
            }
        )
        assert int(self.chain.rpc("eth_getTransactionReceipt", sent)["status"], 16) == 1
        return sent
