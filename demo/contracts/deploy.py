"""Deploy the test tokens to a local chain, and mint them.

The local world deploys USDC and DAI with a key that it uses for nothing else, at nonces 0 and 1. So their addresses are
constant, and demo/catalogue.json can list them.
"""

import json
import time
from functools import cache
from pathlib import Path
from typing import Any

import requests
from eth_abi.abi import encode
from eth_account import Account
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from demo.services.anvil import DEPLOYER_KEY

USDC = "0x700b6A60ce7EaaEA56F065753d8dcB9653dbAD35"
DAI = "0xA15BB66138824a1c7167f5E85b957d04Dd34E468"
_DEPLOYMENTS = (
    (USDC, "AuthorizedToken", "USD Coin", "USDC", 6),
    (DAI, "TestToken", "Dai Stablecoin", "DAI", 18),
)
_GAS = 2_000_000
HOLDER_BALANCE = 25_000
"""The demo wallet's initial balance of each token, in whole tokens."""


class ChainRefusal(RuntimeError):
    """The node returned an error, or the transaction reverted."""


def deploy_token(
    rpc_url: str,
    *,
    artifact: str = "TestToken",
    name: str,
    symbol: str,
    decimals: int,
    deployer_key: str = DEPLOYER_KEY,
) -> str:
    """Deploy a contract of artifacts.json, such as `TestToken`. Return its checksummed address.

    When the function returns, the transaction is mined, whatever the chain's block time. Raises ChainRefusal.
    """
    return deploy_contract(rpc_url, artifact, _token_arguments(name, symbol, decimals), key=deployer_key)


def deploy_contract(rpc_url: str, artifact: str, arguments: bytes = b"", *, key: str = DEPLOYER_KEY) -> str:
    """Deploy a contract of artifacts.json. Return its checksummed address. Raises ChainRefusal."""
    address: str = send(rpc_url, key, data=_bytecode(artifact) + arguments)["contractAddress"]
    return to_checksum_address(address)


def mint(rpc_url: str, token: str, to: str, units: int, *, key: str = DEPLOYER_KEY) -> None:
    """Mint this many base units of `token` for `to`. When the function returns, the transaction is mined."""
    send(rpc_url, key, to=token, data=_call("mint(address,uint256)", ["address", "uint256"], [to, units]))


def balance(rpc_url: str, token: str, holder: str) -> int:
    """Return the holder's balance of `token` in base units."""
    question = {"to": token, "data": "0x" + _call("balanceOf(address)", ["address"], [holder]).hex()}
    return int(rpc(rpc_url, "eth_call", question, "latest"), 16)


def deploy_local_tokens(rpc_url: str, holder: str) -> bool:
    """If USDC or DAI doesn't exist yet, deploy it to its constant address, and mint some of it for `holder`.

    Return True if anything was missing, as on a new chain. Raises ChainRefusal if the deployer's key has been used for
    anything else.
    """
    missing = [row for row in _DEPLOYMENTS if rpc(rpc_url, "eth_getCode", row[0], "latest") == "0x"]
    for constant, artifact, name, symbol, decimals in missing:
        address = deploy_token(rpc_url, artifact=artifact, name=name, symbol=symbol, decimals=decimals)
        if address != constant:
            raise ChainRefusal(
                f"{symbol} came to {address} instead of {constant}: begin with an empty chain."
            )
    unminted = [row for row in _DEPLOYMENTS if _total_supply(rpc_url, row[0]) == 0]
    for constant, *_, decimals in unminted:  # after both deployments, because a mint uses a nonce
        mint(rpc_url, constant, holder, HOLDER_BALANCE * 10**decimals)
    return bool(missing or unminted)


def renew_local_tokens(rpc_url: str) -> None:
    """Update the code of the local tokens, on a chain from an earlier version of the local world.

    Balances don't change, because a contract's storage begins with the inherited variables.
    """
    for constant, artifact, name, symbol, decimals in _DEPLOYMENTS:
        creation = "0x" + (_bytecode(artifact) + _token_arguments(name, symbol, decimals)).hex()
        rpc(rpc_url, "anvil_setCode", constant, rpc(rpc_url, "eth_call", {"data": creation}, "latest"))


def send(
    rpc_url: str, key: str, *, to: str | None = None, data: bytes = b"", value: int = 0
) -> dict[str, Any]:
    """Sign, send and mine a transaction. Return its receipt.

    Raises ChainRefusal if it reverts.
    """
    account = Account.from_key(key)
    transaction: dict[str, Any] = {
        "chainId": int(rpc(rpc_url, "eth_chainId"), 16),
        "nonce": int(rpc(rpc_url, "eth_getTransactionCount", account.address, "pending"), 16),
        "gas": _GAS,
        "maxFeePerGas": 2 * int(rpc(rpc_url, "eth_gasPrice"), 16),
        "maxPriorityFeePerGas": 1_000_000_000,
        "value": value,
        "data": data,
    }
    if to is not None:
        transaction["to"] = to
    signed = account.sign_transaction(transaction)
    transaction_hash = rpc(rpc_url, "eth_sendRawTransaction", "0x" + signed.raw_transaction.hex())
    receipt = _mined(rpc_url, transaction_hash)
    if int(receipt["status"], 16) != 1:
        raise ChainRefusal(f"The transaction {transaction_hash} reverted.")
    return receipt


def rpc(rpc_url: str, method: str, *params: Any) -> Any:
    """One JSON-RPC call. Raises ChainRefusal with the node's own message."""
    question = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = requests.post(rpc_url, json=question, timeout=30).json()
    if "error" in answer:
        raise ChainRefusal(f"{method}: {answer['error'].get('message')}")
    return answer["result"]


def _mined(rpc_url: str, transaction_hash: str) -> dict[str, Any]:
    mines_at_once = bool(rpc(rpc_url, "anvil_getAutomine"))
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        receipt: dict[str, Any] | None = rpc(rpc_url, "eth_getTransactionReceipt", transaction_hash)
        if receipt is not None:
            return receipt
        if mines_at_once:
            time.sleep(0.005)  # the node mines by itself; an additional block would count as a confirmation
        else:
            rpc(rpc_url, "evm_mine")  # mine now, instead of waiting for the next block
    raise ChainRefusal(f"The transaction {transaction_hash} was not mined within 30 s.")


def _total_supply(rpc_url: str, token: str) -> int:
    question = {"to": token, "data": "0x" + _call("totalSupply()", [], []).hex()}
    return int(rpc(rpc_url, "eth_call", question, "latest"), 16)


def _call(signature: str, types: list[str], arguments: list[Any]) -> bytes:
    return keccak(text=signature)[:4] + encode(types, arguments)


def _token_arguments(name: str, symbol: str, decimals: int) -> bytes:
    return encode(["string", "string", "uint8"], [name, symbol, decimals])


def _bytecode(artifact: str) -> bytes:
    return bytes.fromhex(_artifacts()[artifact]["bytecode"].removeprefix("0x"))


@cache
def _artifacts() -> dict[str, Any]:
    artifacts: dict[str, Any] = json.loads(Path(__file__).with_name("artifacts.json").read_text())
    return artifacts
