"""Deploy the code that the demo wallet's account delegates to for atomic batches (EIP-7702).

One key deploys the contract, at its nonce 0, and is not used for anything else. So the contract's address is the same
on every chain and machine.
"""

from eth_account import Account
from eth_utils.crypto import keccak

from demo.contracts.deploy import ChainRefusal, deploy_contract, rpc

KEY = "0x" + keccak(text="quittance local world: delegate of the demo wallet").hex()
"""This private key is published here, so it must not hold anything of value."""
DELEGATE = "0xB1540e810F1fA16Ac5710536F05f2a2F1472e20f"


def deploy_delegate(rpc_url: str) -> None:
    """Deploy the contract to its constant address, if it doesn't exist yet. Raises ChainRefusal."""
    if rpc(rpc_url, "eth_getCode", DELEGATE, "latest") != "0x":
        return
    rpc(rpc_url, "anvil_setBalance", Account.from_key(KEY).address, hex(10**18))
    made = deploy_contract(rpc_url, "DemoAccount", key=KEY)
    if made != DELEGATE:
        raise ChainRefusal(f"The demo wallet's delegate came to {made}: begin with an empty chain.")
