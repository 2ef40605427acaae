"""Parse Relay's quotes. Sources: Relay's API reference and recorded responses.

The customer makes a deposit that contains the hash of an order. The order is part of Relay's settlement protocol,
and the quote must agree with it. A quote that lacks a required field or contradicts itself is no usable response
(ProviderDown). A quote that needs more than an approval and one deposit is no offer (NoOffer).
"""

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from chains.client import EvmCall, SolanaInstruction, SolanaInstructions
from chains.families.solana.accounts import SYSTEM
from payments.providers import reading
from payments.providers.base import Fee, NoOffer, NoOfferCode, Offer, ProviderDown, Side, Tool
from payments.providers.calldata import DepositCall, Unreadable, read_call
from payments.providers.relay.chains import chain_named, chain_numbered
from payments.providers.relay.orders import SOLVERS, OrderUnknown, RelayOrder, bytes_of, read_order

logger = logging.getLogger(__name__)

PROVIDER = "relay"
LONGEST_DURATION = 30 * 24 * 3600
# The customer has to read the quote, sign it, and have the deposit mined. All three together take up to this
# long.
SHORTEST_ORDER_SECONDS = 300
_APPROVE = bytes.fromhex("095ea7b3")  # approve(address,uint256)
_APPROVE_BYTES = 4 + 2 * 32
# Calls to Relay's depository on Solana: deposit_native and deposit_token. The amount (u64) and the order's id follow.
_SOLANA_DEPOSITS = (bytes.fromhex("0d9e0ddf5fd51c06"), bytes.fromhex("0b9c60da27a3b413"))
_SOLANA_DEPOSIT_BYTES = 8 + 8 + 32
_MAX_CALL_BYTES = 64 * 1024
_MAX_GAS = 10**9
_MAX_STEPS = 10
_MAX_INSTRUCTIONS = 40
_MAX_ACCOUNTS = 256
_MAX_TABLES = 32
_LONGEST_NAME = 60
_APPROVAL_STEPS = ("approve", "approval")
_DEPOSIT_STEP = "deposit"
# The names of Relay's fees. All of them are part of the amount to pay.
_FEES = {
    "relayerGas": "Network fee at the destination",
    "relayerService": "Relay's fee",
    "app": "Service fee",
}

Json = Mapping[str, Any]


def offer_from(body: Any, *, now: float) -> Offer:
    """Parse a quote. `now` is Unix time in seconds. Raises ProviderDown and NoOffer."""
    fields = reading.members(body, "quote")
    details = reading.members(fields.get("details"), "details")
    sent, received = _currency(details, "currencyIn"), _currency(details, "currencyOut")
    source = _side(sent, details.get("sender"), "sender")
    target = _side(received, details.get("recipient"), "recipient")
    amount_in = reading.amount(sent.get("amount"), "amount to pay")
    approvals, deposit, request_id = _steps(fields.get("steps"))
    order = _order(fields, now)
    _require_agreement(order, source, target, amount_in)
    action, chain_id = _action(deposit, source, order, amount_in)
    return Offer(
        provider=PROVIDER,
        quote_id="0x" + request_id.hex(),
        bound_by=order.id,
        source=source,
        target=target,
        amount_in=amount_in,
        amount_out=reading.amount(received.get("amount"), "amount to receive"),
        amount_out_min=min(
            reading.amount(received.get("minimumAmount"), "least amount to receive"), order.minimum
        ),
        action=action,
        action_chain_id=chain_id,
        spender=_spender(approvals, action, source),
        must_reset_approval=any(_approved(approval)[2] == 0 for approval in approvals),
        duration_seconds=reading.seconds(details.get("timeEstimate"), "duration", limit=LONGEST_DURATION),
        fees=tuple(_fees(fields.get("fees"))),
        gas=tuple(_gas(fields.get("fees"))),
        usd_in=reading.dollars(sent.get("amountUsd"), "value to pay"),
        usd_out=reading.dollars(received.get("amountUsd"), "value to receive"),
        tools=_tools(details.get("route")),
        tracking={
            "request_id": "0x" + request_id.hex(),
            "from_chain": source.chain_id,
            "to_chain": target.chain_id,
            "to_token": target.token,
        },
    )


def _currency(details: Json, name: str) -> Json:
    return reading.members(details.get(name), name)


def _side(money: Json, account: Any, whose: str) -> Side:
    currency = reading.members(money.get("currency"), "currency")
    return Side(
        chain_numbered(currency.get("chainId"), "chain"),
        reading.token(currency.get("address"), "currency"),
        reading.account(account, whose),
    )


# --- the steps ----------------------------------------------------------------------------------------------------


def _steps(steps: Any) -> tuple[list[Json], Json, bytes]:
    """Return the data of the approvals, the data of the single deposit, and the request id.

    Other steps are rejected.
    """
    approvals: list[Json] = []
    deposits: list[Json] = []
    request_ids: set[bytes] = set()
    for step in (reading.members(one, "step") for one in reading.items(steps, "steps", limit=_MAX_STEPS)):
        data_items = [_data(item) for item in reading.items(step.get("items"), "items", limit=_MAX_STEPS)]
        if not data_items:
            continue
        request_ids.add(reading.bytes32(step.get("requestId"), "request id"))
        if step.get("kind") != "transaction":
            raise _refused("it has a step that is not a transaction")
        if step.get("id") in _APPROVAL_STEPS:
            approvals += data_items
        elif step.get("id") == _DEPOSIT_STEP:
            deposits += data_items
        else:
            raise _refused("it has a step that is neither an approval nor a deposit")
    if len(deposits) != 1:
        raise _refused(f"it has {len(deposits)} deposits")
    if len(request_ids) != 1:
        raise reading.malformed("request id")
    return approvals, deposits[0], request_ids.pop()


def _data(item: Any) -> Json:
    return reading.members(reading.members(item, "item").get("data"), "item's data")


def _action(
    fields: Json, source: Side, order: RelayOrder, amount_in: int
) -> tuple[EvmCall | SolanaInstructions, int]:
    """Return the action that the wallet signs, and its chain id."""
    if reading.signs(source.account, SolanaInstructions):
        return _instructions(fields, order, amount_in), source.chain_id
    reading.require_equal(reading.account(fields.get("from"), "sender"), source.account, "the sender")
    gas = reading.quantity(fields["gas"], "gas limit") if fields.get("gas") is not None else None
    call = EvmCall(
        to=reading.account(fields.get("to"), "contract to call"),
        data=reading.data_bytes(fields.get("data"), "call data", limit=_MAX_CALL_BYTES),
        value=reading.quantity(fields["value"], "value") if fields.get("value") is not None else 0,
        gas=gas if gas is None or 0 < gas <= _MAX_GAS else None,
    )
    try:
        decoded = read_call(call.data, order.id)
    except Unreadable:
        raise reading.malformed("call data") from None
    if not isinstance(decoded, DepositCall) or decoded.order_id != order.id:
        raise _refused("its transaction does not deposit for its order")
    return call, chain_numbered(fields.get("chainId"), "transaction's chain")


def _instructions(fields: Json, order: RelayOrder, amount_in: int) -> SolanaInstructions:
    listed = reading.items(fields.get("instructions"), "instructions", limit=_MAX_INSTRUCTIONS)
    tables = reading.items(fields.get("addressLookupTableAddresses"), "lookup tables", limit=_MAX_TABLES)
    action = SolanaInstructions(
        tuple(_instruction(reading.members(one, "instruction")) for one in listed),
        tuple(reading.account(table, "lookup table") for table in tables),
    )
    deposits = [one for one in action.instructions if one.data[:8] in _SOLANA_DEPOSITS]
    if len(deposits) != 1 or len(deposits[0].data) != _SOLANA_DEPOSIT_BYTES:
        raise _refused("its transaction does not make one deposit")
    amount, order_id = int.from_bytes(deposits[0].data[8:16], "little"), deposits[0].data[16:]
    if order_id != order.id or amount != amount_in:
        raise _refused("its transaction does not deposit for its order")
    return action


def _instruction(fields: Json) -> SolanaInstruction:
    keys = reading.items(fields.get("keys"), "accounts", limit=_MAX_ACCOUNTS)
    # Relay sends an instruction's data as hex without 0x.
    data = reading.data_bytes(f"0x{fields.get('data', '')}", "instruction's data", limit=_MAX_CALL_BYTES)
    return SolanaInstruction(
        _address(fields.get("programId")), tuple(_key(reading.members(key, "account")) for key in keys), data
    )


def _key(fields: Json) -> tuple[str, bool, bool]:
    return (
        _address(fields.get("pubkey")),
        reading.flag(fields.get("isSigner"), "signer"),
        reading.flag(fields.get("isWritable"), "writable"),
    )


def _address(written: Any) -> str:
    """Return an account of an instruction. Unlike other accounts, it may be the System Program."""
    spelled = reading.text(written, "account", limit=64)
    return spelled if spelled == SYSTEM else reading.account(spelled, "account")


def _spender(approvals: list[Json], action: EvmCall | SolanaInstructions, source: Side) -> str | None:
    """Return the deposit's contract if the quote needs an approval for it. Reject approvals for other accounts."""
    if isinstance(action, SolanaInstructions) or source.token == "":
        if approvals:
            raise _refused("it requests an approval where none is needed")
        return None
    for approval in approvals:
        token, spender, _ = _approved(approval)
        if (token, spender) != (source.token, action.to):
            raise _refused("its approval is not for the contract of its deposit")
    return action.to


def _approved(fields: Json) -> tuple[str, str, int]:
    """Return an approval's token, spender and amount. The amount is not used, because our own approvals are exact."""
    data = reading.data_bytes(fields.get("data"), "approval", limit=_MAX_CALL_BYTES)
    if data[:4] != _APPROVE or len(data) != _APPROVE_BYTES:
        raise _refused("its approval is not an ERC-20 approval")
    spender = reading.account("0x" + data[16:36].hex(), "spender")
    return reading.account(fields.get("to"), "approved token"), spender, int.from_bytes(data[36:])


# --- the order ----------------------------------------------------------------------------------------------------


def _order(fields: Json, now: float) -> RelayOrder:
    """Return the quote's order, with its id checked. Raises NoOffer and ProviderDown."""
    protocol = fields.get("protocol")
    second = protocol.get("v2") if isinstance(protocol, dict) else None
    if not isinstance(second, dict) or second.get("orderData") is None:
        raise _refused("it has no order")
    try:
        order = read_order(second["orderData"])
    except OrderUnknown as unknown:
        raise _refused(str(unknown)) from unknown
    if order.id != reading.bytes32(second.get("orderId"), "order's id"):
        raise _refused("its order does not match its id")
    if order.solver not in SOLVERS:
        raise _refused("its order is not for Relay's solver")
    if order.calls_out:
        raise _refused("its order makes calls at the destination")
    if order.deadline < now + SHORTEST_ORDER_SECONDS:
        raise _refused("its order ends too soon")
    return order


def _require_agreement(order: RelayOrder, source: Side, target: Side, amount_in: int) -> None:
    """Raise if the order contradicts the quote, or could refund an account other than the payer and the recipient."""
    reading.require_equal(chain_named(order.source_chain), source.chain_id, "the chain to pay on")
    reading.require_equal(order.source_currency, _currency_bytes(source), "the token to pay")
    reading.require_equal(order.source_amount, amount_in, "the amount to pay")
    reading.require_equal(chain_named(order.target_chain), target.chain_id, "the destination's chain")
    reading.require_equal(order.target_currency, _currency_bytes(target), "the token to receive")
    reading.require_equal(order.recipient, bytes_of(target.account), "the recipient")
    if not order.refunded <= {bytes_of(source.account), bytes_of(target.account)}:
        raise _refused("its order refunds another account")


def _currency_bytes(side: Side) -> bytes:
    return bytes_of(side.token or reading.native_coin(side.account))


def _refused(why: str) -> NoOffer:
    logger.warning("an offer of Relay's was rejected: %s", why)
    return NoOffer(NoOfferCode.ROUTE_REFUSED)


# --- costs and tools
# ----------------------------------------------------------------------------------------------


def _fees(fees: Any) -> Iterator[Fee]:
    for key, name in _FEES.items():
        fee = _fee(fees, key, name, included=True)
        if fee and fee.amount:
            yield fee


def _gas(fees: Any) -> Iterator[Fee]:
    fee = _fee(fees, "gas", "Network fee", included=False)
    if fee:
        yield fee


def _fee(fees: Any, key: str, name: str, *, included: bool) -> Fee | None:
    """Return a fee, or None if it is malformed: fees are only displayed."""
    try:
        fields = reading.members(reading.members(fees, "fees").get(key), "fee")
        currency = reading.members(fields.get("currency"), "fee's currency")
        return Fee(
            name=name,
            symbol=reading.shown(currency.get("symbol"), limit=_LONGEST_NAME),
            decimals=reading.whole(currency.get("decimals"), "decimals", limit=reading.MAX_DECIMALS),
            chain_id=chain_numbered(currency.get("chainId"), "fee's chain"),
            token=reading.token(currency.get("address"), "fee's currency"),
            amount=reading.amount(fields.get("amount"), "fee"),
            usd=reading.dollars(fields.get("amountUsd"), "fee's value"),
            included=included,
        )
    except ProviderDown:
        return None


def _tools(route: Any) -> tuple[Tool, ...]:
    """Return Relay, and the exchange that it uses at the destination, if known."""
    destination = route.get("destination") if isinstance(route, dict) else None
    router = destination.get("router") if isinstance(destination, dict) else None
    name = reading.shown(router, limit=_LONGEST_NAME)
    tools = (Tool(PROVIDER, "Relay"),)
    return tools if name in ("", PROVIDER) else (*tools, Tool(name, name))


# --- no offer
# -----------------------------------------------------------------------------------------------------

# Relay's error codes that mean "no route", from "Handling Quote Errors" in its documentation.
_NO_OFFERS = {
    "AMOUNT_TOO_LOW": NoOfferCode.AMOUNT_TOO_LOW,
    "SWAP_IMPACT_TOO_HIGH": NoOfferCode.FEES_TOO_HIGH,
    "INSUFFICIENT_LIQUIDITY": NoOfferCode.NO_LIQUIDITY,
    **dict.fromkeys(
        (
            "CHAIN_DISABLED",
            "INSUFFICIENT_FUNDS",
            "INVALID_ADDRESS",
            "INVALID_INPUT_CURRENCY",
            "INVALID_OUTPUT_CURRENCY",
            "INVALID_RECIPIENT",
            "NO_INTERNAL_SWAP_ROUTES_FOUND",
            "NO_QUOTES",
            "NO_SWAP_ROUTES_FOUND",
            "ROUTE_TEMPORARILY_RESTRICTED",
            "SANCTIONED_CURRENCY",
            "SANCTIONED_WALLET_ADDRESS",
            "SOLANA_TX_TOO_LARGE",
            "UNSUPPORTED_CHAIN",
            "UNSUPPORTED_CURRENCY",
            "UNSUPPORTED_EXECUTION_TYPE",
            "UNSUPPORTED_ROUTE",
            "USER_RECIPIENT_MISMATCH",
        ),
        NoOfferCode.NO_ROUTE,
    ),
}


def no_offer_from(status: int, body: Any) -> NoOffer | ProviderDown:
    """Map a 4xx response to an error. An unknown code counts as no usable response."""
    code = body.get("errorCode") if isinstance(body, dict) else None
    if isinstance(code, str) and code in _NO_OFFERS:
        return NoOffer(_NO_OFFERS[code])
    shown_code = reading.shown(code, limit=reading.LONGEST_WORD) or "no code"
    return ProviderDown(f"Relay rejected a quote request with HTTP {status}: {shown_code}")
