"""Create quotes. Validate and price a request, and build the transaction with the id of the quote."""

import secrets
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from eth_utils.address import is_address, to_checksum_address
from solders.pubkey import Pubkey

from demo.aggregator import contracts, ledger, pricing
from demo.aggregator.book import Swap
from demo.aggregator.places import EVM, EVM_NATIVE, Place, Places, Token
from demo.aggregator.pricing import Amounts, Tool
from demo.aggregator.switches import Positions

STRANGER = "0x000000000000000000000000000000000000dEaD"
SOLANA_STRANGER = str(ledger.STRANGER.pubkey())
UNKNOWN_CONTRACT = "0x00000000000000000000000000000000DeaDBeef"
# LI.FI rejects these addresses, because no one has their keys.
_PLACEHOLDERS = {"0x" + digit * 40 for digit in "0123456789abcdef"}


class Invalid(ValueError):
    """The request is invalid. The message has the reason."""


class NoQuote(Exception):
    """There is no route. `code` is the tool's error code."""

    def __init__(self, code: str, tool: Tool) -> None:
        super().__init__(code)
        self.code = code
        self.tool = tool


@dataclass(frozen=True)
class Question:
    """A validated quote request.

    It sets either the amount to pay (`taken`) or the amount that must arrive (`least`), in base units.
    """

    source: Place
    target: Place
    from_token: Token
    to_token: Token
    sender: str
    recipient: str
    taken: int | None
    least: int | None
    slippage: Decimal
    order: str
    integrator: str


def read_question(arguments: Mapping[str, str], places: Places, *, by_output: bool) -> Question:
    """Return the quote request with these parameters. Raises Invalid."""
    source, target = _place(arguments, "fromChain", places), _place(arguments, "toChain", places)
    sender = _account(arguments.get("fromAddress", ""), source, "fromAddress")
    if sender.lower() in _PLACEHOLDERS:
        raise Invalid("fromAddress is a placeholder")
    # As in LI.FI's API, money goes to the sender if there is no toAddress.
    recipient = _account(arguments.get("toAddress") or sender, target, "toAddress")
    amount = _amount(arguments, "toAmount" if by_output else "fromAmount")
    order = arguments.get("order", "CHEAPEST")
    if order not in ("CHEAPEST", "FASTEST", "RECOMMENDED", "SAFEST"):
        raise Invalid("order should be CHEAPEST or FASTEST")
    return Question(
        source=source,
        target=target,
        from_token=_token(arguments, "fromToken", source),
        to_token=_token(arguments, "toToken", target),
        sender=sender,
        recipient=recipient,
        taken=None if by_output else amount,
        least=amount if by_output else None,
        slippage=_slippage(arguments.get("slippage", "0.005")),
        order=order,
        integrator=arguments.get("integrator", "lifi-api"),
    )


def quote(question: Question, positions: Positions) -> Swap:
    """Price the request and build its transaction. Raises NoQuote."""
    source, target = question.source, question.target
    tool = pricing.tool_for(source, target, question.order)
    if question.from_token == question.to_token:
        raise NoQuote("NO_POSSIBLE_ROUTE", tool)
    amounts = _amounts(question, tool)
    if positions.quote == "absurd_price":
        amounts = Amounts(amounts.taken * 2, amounts.fee, amounts.expected, amounts.least)
    worth = question.to_token.value(amounts.least)
    if worth < pricing.LEAST_VALUE:
        raise NoQuote("AMOUNT_TOO_LOW", tool)
    if worth > pricing.MAX_VALUE:
        raise NoQuote("INSUFFICIENT_LIQUIDITY", tool)
    fee = pricing.bridge_fee(source, target)
    if source.kind != EVM and source.id == target.id:
        raise NoQuote("NO_POSSIBLE_ROUTE", tool)
    transaction_id = new_id(source)
    return Swap(
        id=transaction_id,
        step_id=f"{uuid.uuid4()}:0",
        tool=tool.key,
        from_token=question.from_token,
        to_token=question.to_token,
        sender=question.sender,
        recipient=_paid(question, positions),
        amount_in=amounts.taken,
        amount_out=amounts.expected,
        amount_out_min=amounts.least,
        bridge_fee=fee,
        integrator=question.integrator,
        data=_data(question, amounts, fee, tool, transaction_id, positions),
        made_at=time.time(),
    )


def new_id(source: Place) -> bytes:
    """Return the id of a new quote. On Solana, it begins with 8 printable characters, because a memo must be text."""
    if source.kind == EVM:
        return secrets.token_bytes(32)
    letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
    return "".join(secrets.choice(letters) for _ in range(8)).encode() + secrets.token_bytes(24)


def stranger(place: Place) -> str:
    """Return an account on this chain that has nothing to do with the swap."""
    return STRANGER if place.kind == EVM else SOLANA_STRANGER


def account_bytes(place: Place, account: str) -> bytes:
    """Return the 20 or 32 bytes of an account or a token address on this chain."""
    if place.kind == EVM:
        return bytes.fromhex(account.removeprefix("0x"))
    return bytes(Pubkey.from_string(account))


def _amounts(question: Question, tool: Tool) -> Amounts:
    tokens = question.from_token, question.to_token
    if question.least is not None:
        return pricing.by_output(*tokens, question.least, question.slippage, tool.fee)
    return pricing.by_input(*tokens, question.taken or 0, question.slippage, tool.fee)


def _paid(question: Question, positions: Positions) -> str:
    """Return the account that the executor pays: the requested recipient, unless a switch selects another account."""
    is_crooked = positions.quote in ("other_recipient", "other_receiver_in_call")
    return stranger(question.target) if is_crooked else question.recipient


def _data(
    question: Question, amounts: Amounts, fee: int, tool: Tool, transaction_id: bytes, positions: Positions
) -> bytes:
    carried = new_id(question.source) if positions.quote == "no_id" else transaction_id
    recipient = _paid(question, positions)
    if question.source.kind != EVM:
        return ledger.unsigned_payment(
            question.source.url,
            sender=question.sender,
            token=question.from_token,
            amount=amounts.taken * (10**6 if positions.quote == "reverts" else 1),
            fee=fee,
            transaction_id=carried,
            receiver=recipient,
        )
    if question.source.id == question.target.id:
        fails = positions.quote == "reverts"
        lies = positions.quote == "other_minimum_in_call"
        return contracts.swap_data(
            carried,
            integrator=question.integrator,
            receiver=recipient,
            least=amounts.least // 2 if lies else amounts.least,
            token_in=question.from_token.address,
            amount_in=amounts.taken,
            token_out=question.to_token.address,
            amount_out=1 if fails else amounts.expected,
            native=EVM_NATIVE,
        )
    if positions.packed and question.target.kind == EVM:
        return contracts.packed_data(
            carried,
            token=None if question.from_token.is_native else question.from_token.address,
            amount=amounts.taken,
            sender=question.sender,
            receiver=recipient,
            chain_id=question.target.id,
            arriving_token=question.to_token.address,
            arriving=amounts.least,
        )
    return contracts.bridge_data(
        contracts.BridgeCall(
            transaction_id=carried,
            bridge=tool.key,
            integrator=question.integrator,
            token=question.from_token.address,
            receiver=recipient if question.target.kind == EVM else account_bytes(question.target, recipient),
            amount=amounts.taken,
            destination_chain_id=question.target.id,
            arriving_token=account_bytes(question.target, question.to_token.address),
            has_destination_call=question.from_token.symbol != question.to_token.symbol,
            has_source_swaps=positions.quote == "reverts",
        )
    )


def _place(arguments: Mapping[str, str], name: str, places: Places) -> Place:
    place = places.find(arguments.get(name, ""))
    if place is None:
        raise Invalid(f"{name} must be one of the supported chains")
    return place


def _token(arguments: Mapping[str, str], name: str, place: Place) -> Token:
    token = place.token(arguments.get(name, ""))
    if token is None:
        raise Invalid(f"{name} is not a token of chain {place.id}")
    return token


def _account(text: str, place: Place, name: str) -> str:
    if place.kind == EVM:
        if not is_address(text):
            raise Invalid(f"{name} is not an address of chain {place.id}")
        return to_checksum_address(text)
    try:
        return str(Pubkey.from_string(text))
    except ValueError as error:
        raise Invalid(f"{name} is not an address of chain {place.id}") from error


def _amount(arguments: Mapping[str, str], name: str) -> int:
    text = arguments.get(name, "")
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise Invalid(f"{name} must be a positive integer")
    return int(text)


def _slippage(text: str) -> Decimal:
    try:
        slippage = Decimal(text)
    except InvalidOperation as error:
        raise Invalid("slippage must be a number") from error
    if not 0 <= slippage < 1:
        raise Invalid("slippage must be between 0 and 1")
    return slippage
