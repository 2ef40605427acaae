"""Check whether a provider's Solana transaction may be signed. Pure functions over its instructions.

The payer must be the only signer. The transaction must call a pinned program with the quote's id. The
transaction's instructions may debit no more than the offer says. Later, when the transaction is built, our own
node simulates what the pinned programs do (`chains.families.solana.vetting.balance_changes`).
"""

from collections.abc import Collection

from eth_utils.address import is_address
from solders.pubkey import Pubkey

from chains.client import SolanaInstructions, SolanaTransaction
from chains.families.solana.accounts import WRAPPED_SOL
from chains.families.solana.vetting.balance_changes import RENT_ALLOWANCE
from chains.families.solana.vetting.debits import Debit, DebitKind, debits
from chains.families.solana.vetting.messages import (
    MessageInstruction,
    SolanaMessage,
    message_of,
    read_message,
    uses_durable_nonce,
)
from payments.providers.base import Offer

SolanaAction = SolanaTransaction | SolanaInstructions
_ID_PREFIX_BYTES = 8


def problem_of(action: SolanaAction, offer: Offer, extra_native: int, routers: Collection[str]) -> str | None:
    """Return why the action must not be signed, or None.

    Beyond the offer's amount, `extra_native` lamports may be paid.
    """
    payer = offer.source.account
    try:
        message = _message(action, payer)
    except ValueError:
        return "its transaction is malformed"
    if message.fee_payer != payer or message.missing != (payer,):
        return "the payer is not the only signer of its transaction"
    if uses_durable_nonce(message):
        return "its transaction could be sent at any later time"
    pinned = _calls_of(message, routers)
    if not pinned:
        return "its transaction calls no program that the catalogue pins"
    if not any(offer.bound_by[:_ID_PREFIX_BYTES] in call.data for call in pinned):
        return "its transaction does not carry its id"
    return _excess(debits(message, payer), offer, extra_native, routers)


def names_receiver(action: SolanaAction, receiver: str, payer: str, routers: Collection[str]) -> bool:
    """Whether a call to a pinned program contains the receiver in its data or its accounts."""
    named = bytes.fromhex(receiver[2:]) if is_address(receiver) else bytes(Pubkey.from_string(receiver))
    calls = _calls_of(_message(action, payer), routers)
    return any(named in call.data or call.names(receiver) for call in calls)


def _message(action: SolanaAction, payer: str) -> SolanaMessage:
    if isinstance(action, SolanaTransaction):
        return read_message(action.serialized)
    return message_of(action, payer)


def _calls_of(message: SolanaMessage, routers: Collection[str]) -> list[MessageInstruction]:
    return [call for call in message.instructions if call.program in routers]


def _excess(debits: list[Debit], offer: Offer, extra_native: int, routers: Collection[str]) -> str | None:
    """Return why the debits exceed the offer, or None. Unknown debits by pinned programs are not checked here."""
    is_native = offer.source.token == ""
    own_coins, tokens = (offer.amount_in, 0) if is_native else (0, offer.amount_in)
    native = own_coins + extra_native + RENT_ALLOWANCE
    wrapped = own_coins + extra_native  # Wrapped SOL counts as lamports too.
    for taking in debits:
        is_own_token = taking.mint in (None, offer.source.token)
        match taking.kind:
            case DebitKind.UNKNOWN if taking.program in routers:
                continue
            case DebitKind.LAMPORTS if taking.amount is not None:
                native -= taking.amount
            case DebitKind.TOKENS if taking.amount is not None and is_own_token and not is_native:
                tokens -= taking.amount
            case DebitKind.TOKENS if taking.amount is not None and taking.mint == WRAPPED_SOL:
                wrapped -= taking.amount
            case _:
                return f"its transaction may do more than pay ({taking.what} of {taking.program})"
    if native < 0 or wrapped < 0:
        return "its transaction debits more SOL than the offer"
    if tokens < 0:
        return "its transaction debits more of the token than the offer"
    return None
