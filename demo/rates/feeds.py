"""The price feeds of the local world: three contracts on the first chain, at constant addresses.

One key deploys these contracts, at its nonces 0 to 2, and is not used for anything else. So their addresses never
change, and demo/catalogue.json can list them.
"""

import threading
import time
from collections.abc import Mapping
from decimal import Decimal

from eth_abi.abi import encode
from eth_account import Account
from eth_utils.crypto import keccak

from demo.contracts.deploy import ChainRefusal, deploy_contract, rpc, send
from demo.rates.market import FROZEN_FOR, Positions

KEY = "0x" + keccak(text="quittance local world: price feeds").hex()
"""This private key is published here, so it must not hold anything of value."""
FEEDS = {
    "USDC": "0x458418043561fB17DFf690687B42b1AAD56ef586",
    "ETH": "0xa43D7ad46fa0b829465aa71bd9676c4c1CE1AC46",
    "EUR": "0xeaB1336699c53861FAB6fA1649D2B62029a2A9c6",
}
DIGITS = 8
_one_writer = threading.Lock()


def deploy_feeds(rpc_url: str) -> None:
    """Deploy the feeds, if they don't exist yet. Raises ChainRefusal if the key has been used for anything else."""
    last = list(FEEDS.values())[-1]
    if rpc(rpc_url, "eth_getCode", last, "latest") != "0x":
        return
    rpc(rpc_url, "anvil_setBalance", Account.from_key(KEY).address, hex(10**21))
    arguments = encode(["uint8", "int256", "uint256"], [DIGITS, 0, 0])
    made = {code: deploy_contract(rpc_url, "PriceFeed", arguments, key=KEY) for code in FEEDS}
    if made != FEEDS:
        raise ChainRefusal(f"The price feeds came to {made}: begin with an empty chain.")


def write_feeds(rpc_url: str, positions: Positions) -> None:
    """Write prices to the feeds, as the switches select. Raises ChainRefusal."""
    with _one_writer:
        _write(rpc_url, positions, time.time())


def _write(rpc_url: str, positions: Positions, now: float) -> None:
    fault = positions.feeds
    at = int(now - FROZEN_FOR.total_seconds()) if fault == "frozen" else int(now)
    for code, address in FEEDS.items():
        price = positions.price("feeds", code) or Decimal(0)
        _call(rpc_url, address, "set(int256,uint256)", {"int256": int(price.scaleb(DIGITS)), "uint256": at})
        if fault == "garbage":
            _call(rpc_url, address, "skip()", {})
        if _is_broken(rpc_url, address) != (fault == "down"):
            _call(rpc_url, address, "breakDown(bool)", {"bool": fault == "down"})


def _is_broken(rpc_url: str, address: str) -> bool:
    question = {"to": address, "data": "0x" + keccak(text="latestRoundData()")[:4].hex()}
    try:
        rpc(rpc_url, "eth_call", question, "latest")
    except ChainRefusal:
        return True
    return False


def _call(rpc_url: str, address: str, signature: str, arguments: Mapping[str, object]) -> None:
    data = keccak(text=signature)[:4] + encode(list(arguments), list(arguments.values()))
    send(rpc_url, KEY, to=address, data=data)
