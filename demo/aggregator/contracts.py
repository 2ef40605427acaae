"""The aggregator's contracts: the addresses, the deployment and the calls.

One key deploys these contracts, at its nonces 0 to 3, and is not used for anything else. So the contracts have the same
addresses on every chain and machine, and demo/catalogue.json can list them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from eth_abi.abi import encode
from eth_account import Account
from eth_utils.crypto import keccak

from demo.contracts.deploy import (
    DAI,
    USDC,
    ChainRefusal,
    balance,
    deploy_contract,
    deploy_token,
    mint,
    rpc,
    send,
)

KEY = "0x" + keccak(text="quittance local world: aggregator").hex()
"""This private key is published here, so it must not hold anything of value."""
USDT = "0xd936BBB8742Dbacc7FD9f2768087af5A977f8a1A"
EURC = "0x6562917ac2a5978C330AAC8e625E96c95e92e747"
ROUTER = "0x06a49a5F22eb5757Cc459d3BF95109Bfa8B07cc8"
EXECUTOR = "0xDb59b5aA99B7c8532210900f99F23a420eC0cA08"

NOT_EVM = "0x11f111f111f111F111f111f111F111f111f111F1"
COIN_STOCK = 10**6 * 10**18
TOKEN_STOCK = 10**9

_BRIDGE_DATA = "(bytes32,string,string,address,address,address,uint256,uint256,bool,bool)"
_RELAY_DATA = "(bytes32,bytes32,bytes32,bytes)"
_SWAP_DATA = "(address,address,address,address,uint256,bytes,bool)"
_MOVE = "(bytes32,address,address,uint256)"
_BRIDGE = f"startBridgeTokensViaRelay({_BRIDGE_DATA},{_RELAY_DATA})"
_SWAP_HEAD = ("bytes32", "string", "string", "address", "uint256")

TRANSFER_STARTED = "0x" + keccak(text=f"LiFiTransferStarted({_BRIDGE_DATA})").hex()
PACKED_TRANSFER = "0x" + keccak(text="LiFiAcrossTransfer(bytes8)").hex()
SWAP_COMPLETED = (
    "0x"
    + keccak(
        text="LiFiGenericSwapCompleted(bytes32,string,string,address,address,address,uint256,uint256)"
    ).hex()
)


def deploy_local_router(rpc_url: str, holder: str, whole_tokens: int) -> None:
    """Deploy the contracts to their constant addresses and fund them, if they don't exist yet.

    On a new chain, `holder` gets `whole_tokens` of USDT and of EURC. USDC and DAI must exist. Raises ChainRefusal if
    the key was used for anything else.
    """
    owner = Account.from_key(KEY).address
    if rpc(rpc_url, "eth_getCode", EXECUTOR, "latest") == "0x":
        rpc(rpc_url, "anvil_setBalance", owner, hex(10**21))
        made = (
            deploy_token(
                rpc_url, artifact="TetherLike", name="Tether USD", symbol="USDT", decimals=6, deployer_key=KEY
            ),
            deploy_token(rpc_url, name="Euro Coin", symbol="EURC", decimals=6, deployer_key=KEY),
            deploy_contract(rpc_url, "LocalRouter", key=KEY),
            deploy_contract(rpc_url, "LocalExecutor", key=KEY),
        )
        if made != (USDT, EURC, ROUTER, EXECUTOR):
            raise ChainRefusal(f"The aggregator's contracts came to {made}: begin with an empty chain.")
        for token in (USDT, EURC):
            mint(rpc_url, token, holder, whole_tokens * 10**6, key=KEY)
    for contract in (ROUTER, EXECUTOR):
        _stock(rpc_url, contract)


def _stock(rpc_url: str, contract: str) -> None:
    rpc(rpc_url, "anvil_setBalance", contract, hex(COIN_STOCK))
    for token, decimals in ((USDC, 6), (DAI, 18), (USDT, 6), (EURC, 6)):
        units = TOKEN_STOCK * 10**decimals
        if balance(rpc_url, token, contract) < units // 2:
            mint(rpc_url, token, contract, units, key=KEY)


@dataclass(frozen=True)
class BridgeCall:
    """The arguments of a bridge call. `receiver` is an EVM account, or 32 bytes for a chain of another kind."""

    transaction_id: bytes
    bridge: str
    integrator: str
    token: str
    receiver: str | bytes
    amount: int
    destination_chain_id: int
    arriving_token: bytes
    has_destination_call: bool
    has_source_swaps: bool = False
    """A call never has source swaps: the contract rejects a call in which this is true."""


def bridge_data(call: BridgeCall) -> bytes:
    is_evm = isinstance(call.receiver, str)
    zero = "0x" + "00" * 20
    bridge = (
        call.transaction_id,
        call.bridge,
        call.integrator,
        zero,
        call.token,
        call.receiver if is_evm else NOT_EVM,
        call.amount,
        call.destination_chain_id,
        call.has_source_swaps,
        call.has_destination_call,
    )
    receiver = b"" if isinstance(call.receiver, str) else call.receiver
    relay = (
        keccak(call.transaction_id),
        receiver.rjust(32, b"\0"),
        call.arriving_token.rjust(32, b"\0"),
        b"",
    )
    return keccak(text=_BRIDGE)[:4] + encode([_BRIDGE_DATA, _RELAY_DATA], [bridge, relay])


def packed_data(
    transaction_id: bytes,
    *,
    token: str | None,
    amount: int,
    sender: str,
    receiver: str,
    chain_id: int,
    arriving_token: str,
    arriving: int,
) -> bytes:
    """Return the call data of the bridge's packed function. If `token` is None, the call pays native coin."""
    name = "ERC20Packed" if token else "NativePacked"
    taken = [_address(token), amount.to_bytes(16)] if token else []
    parts = [
        keccak(text=f"startBridgeTokensViaAcrossV3{name}()")[:4],
        transaction_id[:8],
        _address(receiver),
        _address(sender),
        *taken,
        chain_id.to_bytes(4),
        _address(arriving_token),
        arriving.to_bytes(32),
    ]
    return b"".join(parts)


def swap_data(
    transaction_id: bytes,
    *,
    integrator: str,
    receiver: str,
    least: int,
    token_in: str,
    amount_in: int,
    token_out: str,
    amount_out: int,
    native: str,
) -> bytes:
    """Return the call data of a swap on one chain. The swap pays `amount_out`, and reverts if that is below `least`."""
    kinds = "Native" if token_in == native else "ERC20", "Native" if token_out == native else "ERC20"
    name = f"swapTokensSingleV3{kinds[0]}To{kinds[1]}({','.join((*_SWAP_HEAD, _SWAP_DATA))})"
    given = encode(["uint256"], [amount_out])
    swap = (ROUTER, ROUTER, token_in, token_out, amount_in, given, True)
    head = [transaction_id, integrator, "", receiver, least]
    return keccak(text=name)[:4] + encode([*_SWAP_HEAD, _SWAP_DATA], [*head, swap])


@dataclass(frozen=True)
class Move:
    """One delivery on an EVM chain. `token` is the token's address in LI.FI's API."""

    transaction_id: bytes
    token: str
    receiver: str
    amount: int


def deliver(rpc_url: str, moves: Sequence[Move]) -> str:
    """Make all deliveries in one transaction. Return its hash when it is mined. Raises ChainRefusal if it reverts."""
    rows = [(move.transaction_id, move.token, move.receiver, move.amount) for move in moves]
    data = keccak(text=f"deliver({_MOVE}[])")[:4] + encode([f"{_MOVE}[]"], [rows])
    return str(send(rpc_url, KEY, to=EXECUTOR, data=data)["transactionHash"])


def _address(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))
