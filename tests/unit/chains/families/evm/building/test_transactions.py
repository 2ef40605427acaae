"""An unsigned EVM transaction contains everything to sign except the nonce, which the wallet chooses."""

from chains.client import EvmCall
from chains.families.evm.building.fees import Fees
from chains.families.evm.building.transactions import unsigned

TOKEN = "0x" + "aa" * 20
WALLET = "0x" + "bb" * 20


def test_unsigned_transaction_leaves_the_nonce_to_the_wallet() -> None:
    """Without a nonce, the transaction never expires. The wallet can sign it at any later time."""
    call = EvmCall(to=TOKEN, data=b"\x01", value=0)
    built = unsigned(call, sender=WALLET, chain_id=8453, gas=50_000, fees=Fees(3, 1, 30_000_000))
    assert built == {
        "chainId": "0x2105",
        "from": WALLET,
        "to": TOKEN,
        "data": "0x01",
        "value": "0x0",
        "gas": "0xc350",
        "maxFeePerGas": "0x3",
        "maxPriorityFeePerGas": "0x1",
    }
