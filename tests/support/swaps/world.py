"""A catalogue with both local EVM chains and, if available, Solana. The local aggregator connects them."""

from dataclasses import dataclass
from typing import Any

from chains.models import Chain, Token
from demo.aggregator import contracts, ledger
from demo.aggregator.server import Aggregator
from tests.chain import LocalChain
from tests.support.solana.ledger import LocalLedger

EVM_ROUTERS = {"lifi": [contracts.ROUTER]}
SOLANA_ROUTERS = {"lifi": [str(ledger.MEMO_PROGRAM)]}
USDT, EURC = contracts.USDT, contracts.EURC
"""On both EVM chains: USDT takes a reset before another approval; EURC is on the aggregator's list alone."""


@dataclass(frozen=True)
class SwapWorld:
    """All parts of the world. `solana` and `solana_row` are None if Surfnet has no build for this machine."""

    aggregator: Aggregator
    first: LocalChain
    second: LocalChain
    solana: LocalLedger | None
    first_row: Chain
    second_row: Chain
    solana_row: Chain | None

    def token(self, chain: Chain | None, symbol: str) -> Token:
        return Token.objects.get(chain=chain, symbol=symbol)

    def approve(self, chain: LocalChain, token: str, amount: int, spender: str = contracts.ROUTER) -> str:
        """Approve this much of the payer's token for the router; return the hash."""
        data = "0x095ea7b3" + spender[2:].lower().rjust(64, "0") + f"{amount:064x}"
        return chain.send(_filled({"to": token, "data": data}, chain.chain_id, 100_000))

    def sign_and_send(self, chain: LocalChain, unsigned: dict[str, Any], key: str | None = None) -> str:
        """Sign and send a transaction. Missing gas, fees and value are filled in. Return its hash."""
        gas = int(str(unsigned.get("gas") or unsigned.get("gasLimit") or "0x7a120"), 16)
        return chain.send(_filled(unsigned, chain.chain_id, gas), key)


def _filled(unsigned: dict[str, Any], chain_id: int, gas: int) -> dict[str, Any]:
    value = unsigned.get("value") or 0
    return {
        "chainId": chain_id,
        "to": unsigned["to"],
        "data": unsigned.get("data", "0x"),
        "value": int(value, 16) if isinstance(value, str) else value,
        "gas": gas,
        "maxFeePerGas": 10**11,
        "maxPriorityFeePerGas": 10**9,
    }


def make_second_row(chain: LocalChain) -> Chain:
    """Store the second local chain and its tokens in the catalogue.

    A payment completes with its first confirmation.
    """
    row = Chain.objects.create(
        id=chain.chain_id,
        name="Harbour Chain",
        chain_type="evm",
        rpc_urls=[chain.url],
        native_symbol="ETH",
        confirmations="1",
        block_time_ms=1000,
        routers=EVM_ROUTERS,
    )
    rows = (
        ("ETH", "Ether", 18, ""),
        ("USDC", "USD Coin", 6, chain.usdc),
        ("DAI", "Dai Stablecoin", 18, chain.dai),
        ("USDT", "Tether USD", 6, USDT),
    )
    for symbol, name, decimals, address in rows:
        Token.objects.create(chain=row, symbol=symbol, name=name, decimals=decimals, contract_address=address)
    return row
