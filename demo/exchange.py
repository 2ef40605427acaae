"""Act as an exchange: pay a customer's withdrawal to a deposit address.

`python -m demo.exchange ADDRESS AMOUNT TOKEN` sends the amount from the exchange's hot wallet. The hot wallet is a
contract that pays many customers in one transaction. So native coin arrives by an internal call. `make run` must be
running.
"""

import argparse
import json
import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from eth_abi.abi import encode
from eth_account import Account
from eth_utils.address import is_address, to_checksum_address
from eth_utils.crypto import keccak

from demo.aggregator.places import HARBOUR_CHAIN_ID
from demo.contracts import deploy
from demo.services import anvil
from demo.services.process import LOCAL

KEY = "0x" + keccak(text="quittance: hot wallet of the demo exchange").hex()
"""The exchange's private key. It is published here, so don't use it on other chains."""
_NATIVE = "0x" + "00" * 20
_FUNDS = 10**24
# The number of other customers whose payouts are in the same batch.
_OTHERS = 2
_CATALOGUE = Path(__file__).with_name("catalogue.json")
_URLS = {anvil.CHAIN_ID: "LOCAL_RPC_URL", HARBOUR_CHAIN_ID: "HARBOUR_RPC_URL"}


class WrongOrder(ValueError):
    """The exchange can't send the requested payment."""


def withdraw(rpc_url: str, address: str, amount: str, symbol: str) -> dict[str, Any]:
    """Pay the amount to the address, in a batch with other customers. Return the receipt.

    Raises WrongOrder and ChainRefusal.
    """
    token = _token(int(deploy.rpc(rpc_url, "eth_chainId"), 16), symbol)
    units = _units(amount, token)
    if not is_address(address):
        raise WrongOrder(f"{address!r} is no address. Copy it from the checkout page.")
    contract = token["contract_address"] or _NATIVE
    customers = [to_checksum_address(address), *(str(Account.create().address) for _ in range(_OTHERS))]
    wallet = hot_wallet(rpc_url)
    if contract == _NATIVE:
        held = int(deploy.rpc(rpc_url, "eth_getBalance", wallet, "latest"), 16)
        deploy.rpc(rpc_url, "anvil_setBalance", wallet, hex(held + len(customers) * units))
    else:
        deploy.mint(rpc_url, contract, wallet, len(customers) * units, key=KEY)
    payouts = [(customer, units) for customer in customers]
    arguments = encode(["address", "(address,uint256)[]"], [contract, payouts])
    data = keccak(text="pay(address,(address,uint256)[])")[:4] + arguments
    return deploy.send(rpc_url, KEY, to=wallet, data=data)


def hot_wallet(rpc_url: str) -> str:
    """Return the address of the exchange's payout contract. The first call deploys it."""
    owner = str(Account.from_key(KEY).address)
    # Compute the address of the first contract that the account creates.
    wallet = to_checksum_address(keccak(b"\xd6\x94" + bytes.fromhex(owner[2:]) + b"\x80")[-20:])
    deploy.rpc(rpc_url, "anvil_setBalance", owner, hex(_FUNDS))
    if deploy.rpc(rpc_url, "eth_getCode", wallet, "latest") == "0x":
        deploy.deploy_contract(rpc_url, "Payouts", key=KEY)
    return wallet


def node_url(chain_id: int) -> str:
    """Return the URL of the running world's node. Raises WrongOrder."""
    name = _URLS.get(chain_id)
    if name is None:
        raise WrongOrder(f"The local world has no EVM chain {chain_id}. Its chains are {_listed(_URLS)}.")
    world = Path(os.environ.get("WORLD_DIRECTORY", LOCAL / "world"))
    settings = world / "settings.sh"
    text = settings.read_text() if settings.exists() else ""
    found = re.search(rf"^export {name}=(.+)$", text, re.MULTILINE)
    if not found:
        raise WrongOrder(f"{settings} names no node. Start the local world with `make run` first.")
    return shlex.split(found[1])[0]


def _token(chain_id: int, symbol: str) -> dict[str, Any]:
    chains = {chain["id"]: chain for chain in json.loads(_CATALOGUE.read_text())["chains"]}
    tokens = {token["symbol"]: token for token in chains[chain_id]["tokens"]}
    if symbol not in tokens:
        raise WrongOrder(f"The exchange has no {symbol!r}. It has {_listed(tokens)}.")
    token: dict[str, Any] = tokens[symbol]
    return token


def _units(amount: str, token: Mapping[str, Any]) -> int:
    try:
        units = Decimal(amount).scaleb(token["decimals"])
        is_whole = units == units.to_integral_value()
    except InvalidOperation:
        is_whole = False
    if not is_whole or units <= 0:
        raise WrongOrder(f"{amount!r} is no amount of {token['symbol']}. Use a decimal such as 12.50.")
    return int(units)


def _listed(names: Mapping[Any, Any]) -> str:
    return ", ".join(map(str, names))


def main(arguments: Sequence[str] | None = None) -> int:
    """Send the payment from the command line. Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m demo.exchange", description=__doc__)
    parser.add_argument("address", metavar="ADDRESS", help="the deposit address on the checkout page")
    parser.add_argument("amount", metavar="AMOUNT", help="a decimal, such as 12.50")
    parser.add_argument("token", metavar="TOKEN", help="a symbol, such as USDC, or ETH for the native coin")
    parser.add_argument(
        "--chain", type=int, default=anvil.CHAIN_ID, help="the chain id (default: %(default)s)"
    )
    order = parser.parse_args(arguments)
    try:
        receipt = withdraw(node_url(order.chain), order.address, order.amount, order.token)
    except (WrongOrder, deploy.ChainRefusal, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"Sent {order.amount} {order.token} in transaction {receipt['transactionHash']}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
