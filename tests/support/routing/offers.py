"""A valid offer of each known kind. Tests then change one thing in it."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from eth_abi.abi import encode

from chains.client import EvmCall
from payments.providers.base import Fee, Offer, Side, Wanted
from payments.providers.calldata import NOT_EVM
from payments.providers.offer_checks import Price, Rules

ROUTER = "0x1231DEB6f5749EF6cE6943a275A1D3E7486F4EaE"
DEPOSITORY = "0x4cD00E387622C35bDDB9b4c962C136462338BC31"
STRANGER = "0x000000000000000000000000000000000000dEaD"
PAYER = "0x8ba1f109551bD432803012645Ac136ddd64DBA72"
MERCHANT = "0x52908400098527886E0F7030069857D2E4169EE7"
SOLANA = 1151111081099710
MERCHANT_ON_SOLANA = "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"
USDC_HERE = "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"
USDC_THERE = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
USDC_ON_SOLANA = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
DAI_HERE = "0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1"
HERE, THERE = 42161, 8453
ID = bytes.fromhex("40c177e75b4ed0a6cd990916c015106ea91eeea7e4c528d4a47ead22b9275bba")
ZERO = "0x" + "00" * 20
_SWAP = "(address,address,address,address,uint256,bytes,bool)"

PRICES = {
    (HERE, USDC_HERE): Price(Decimal("1"), 6),
    (HERE, DAI_HERE): Price(Decimal("1"), 18),
    (HERE, ""): Price(Decimal("2000"), 18),
    (THERE, USDC_THERE): Price(Decimal("1"), 6),
    (THERE, ""): Price(Decimal("2000"), 18),
    (SOLANA, USDC_ON_SOLANA): Price(Decimal("1"), 6),
}
RULES = Rules(
    source_type="evm",
    target_type="evm",
    routers=frozenset({ROUTER, DEPOSITORY}),
    max_lost=Decimal("0.1"),
    allow_opaque=False,
    prices=PRICES,
)
WANTED = Wanted(Side(HERE, USDC_HERE, PAYER), Side(THERE, USDC_THERE, MERCHANT), 10_000_000)
WANTED_HERE = replace(WANTED, source=Side(HERE, DAI_HERE, PAYER), target=Side(HERE, USDC_HERE, MERCHANT))
WANTED_ON_SOLANA = replace(WANTED, target=Side(SOLANA, USDC_ON_SOLANA, MERCHANT_ON_SOLANA))
RULES_TO_SOLANA = replace(RULES, target_type="solana")


def bridge_data(**changes: Any) -> bytes:
    """Return a bridge's call that begins with LI.FI's BridgeData. `changes` are its fields."""
    fields = {
        "id": ID,
        "bridge": "across",
        "integrator": "quittance",
        "referrer": ZERO,
        "asset": USDC_HERE,
        "receiver": MERCHANT,
        "min_amount": 10_050_000,
        "chain_id": THERE,
        "has_source_swaps": False,
        "has_destination_call": False,
        "own": b"",
    } | changes
    own = fields.pop("own")
    shape = "(bytes32,string,string,address,address,address,uint256,uint256,bool,bool)"
    return bytes.fromhex("a1b2c3d4") + encode([shape, "(bytes)"], [tuple(fields.values()), (own,)])


def swap_data(selector: str = "4666fc80", **changes: Any) -> bytes:
    """Return a swap's call on one chain, by default from one token to another."""
    fields = {
        "id": ID,
        "receiver": MERCHANT,
        "min_amount_out": 10_000_000,
        "token_in": DAI_HERE,
        "amount_in": 10_020_000_000_000_000_000,
        "token_out": USDC_HERE,
    } | changes
    step = (STRANGER, STRANGER, fields["token_in"], fields["token_out"], fields["amount_in"], b"\x01", True)
    is_list = selector not in ("4666fc80", "733214a3", "af7060fd")
    head = [fields["id"], "quittance", "", fields["receiver"], fields["min_amount_out"]]
    types = ["bytes32", "string", "string", "address", "uint256", _SWAP + ("[]" if is_list else "")]
    return bytes.fromhex(selector) + encode(types, [*head, [step] if is_list else step])


def deposit_data(**changes: Any) -> bytes:
    """Return the call that deposits a token into Relay's depository."""
    fields = {"depositor": PAYER, "token": USDC_HERE, "amount": 10_050_000, "id": ID} | changes
    return bytes.fromhex("e8017952") + encode(
        ["address", "address", "uint256", "bytes32"], list(fields.values())
    )


def packed_data(identifier: bytes = ID) -> bytes:
    """Return the call of a packed facet, which has room for only 8 bytes of the id."""
    return bytes.fromhex("1a2b3c4d") + identifier[:8] + bytes.fromhex(MERCHANT[2:]) + b"\x00" * 24


def calling(offer: Offer, data: bytes | None = None, **changes: Any) -> Offer:
    """Return the offer with other call data, or with other fields of `EvmCall`."""
    assert isinstance(offer.action, EvmCall)
    data = offer.action.data if data is None else data
    return replace(offer, action=replace(offer.action, data=data, **changes))


BRIDGE = Offer(
    provider="lifi",
    quote_id="step",
    bound_by=ID,
    source=WANTED.source,
    target=WANTED.target,
    amount_in=10_050_000,
    amount_out=10_010_000,
    amount_out_min=10_000_000,
    action=EvmCall(ROUTER, bridge_data(), 0, 400_000),
    action_chain_id=HERE,
    spender=ROUTER,
    usd_in=Decimal("10.05"),
    usd_out=Decimal("10.01"),
)
SWAP = replace(
    BRIDGE,
    source=WANTED_HERE.source,
    target=WANTED_HERE.target,
    amount_in=10_020_000_000_000_000_000,
    action=EvmCall(ROUTER, swap_data(), 0, 400_000),
)
DEPOSIT = replace(
    BRIDGE, provider="relay", action=EvmCall(DEPOSITORY, deposit_data(), 0, 90_000), spender=DEPOSITORY
)
NATIVE_FEE = Fee("LayerZero", "ETH", 18, HERE, "", 10**13, Decimal("0.02"), included=False)
TO_SOLANA = replace(
    BRIDGE,
    target=WANTED_ON_SOLANA.target,
    action=EvmCall(ROUTER, bridge_data(receiver=NOT_EVM, chain_id=SOLANA), 0, 400_000),
)
