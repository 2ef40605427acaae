"""An invented chain family, complete in this folder. No other file of the product names it.

Its requests can be created and paid by hand. It has no client yet, so no payment is verified.
"""

import re
import secrets

from chains.client import ChainClient, ChainError
from chains.families.base import (
    AddressError,
    CallRules,
    Family,
    HashError,
    Network,
    SignatureError,
    Wording,
)

_ADDRESS = re.compile(r"moon1[0-9a-z]{30}")
_HASH = re.compile(r"m[0-9a-f]{64}")
_SIGNATURE = re.compile(r"ms[0-9a-f]{96}")


def normalise_address(text: str) -> str:
    """Return the address in lower case; raises AddressError."""
    if not _ADDRESS.fullmatch(text.lower()):
        raise AddressError("This should be a Moon address: moon1 and 30 letters or digits.")
    return text.lower()


def normalise_transaction_hash(text: str) -> str:
    """Return the hash in lower case; raises HashError."""
    if not _HASH.fullmatch(text.strip().lower()):
        raise HashError("This should be a Moon transaction: m and 64 hexadecimal digits.")
    return text.strip().lower()


def read_signature(text: str) -> str:
    """Return the signature; raises SignatureError."""
    if not _SIGNATURE.fullmatch(text):
        raise SignatureError("This should be a Moon signature: ms and 96 hexadecimal digits.")
    return text


def find_address(text: str) -> str:
    """Return the address in `text`, or ""."""
    return text.lower() if _ADDRESS.fullmatch(text.lower()) else ""


def make_client(network: Network) -> ChainClient:
    """Raise ChainError: the family has no client yet."""
    raise ChainError(f"chain {network.chain_id}: Moon nodes can't be asked yet", permanent=True)


FAMILY = Family(
    key="moon",
    label="Moon",
    native_decimals=8,
    largest_amount=10**15,
    confirmation_tags=("finalized",),
    counts_confirmations=False,
    make_client=make_client,
    normalise_address=normalise_address,
    normalise_transaction_hash=normalise_transaction_hash,
    read_signature=read_signature,
    is_signed_by_key=lambda address, message, signature: False,
    find_address=find_address,
    address_bytes=lambda address: address.encode(),
    address_mark="moon1",
    reference_text=lambda reference: "memo-" + reference.hex(),
    account_name="Moon",
    chain_reference=lambda chain_id, _: f"moon-{chain_id}",
    call_rules=CallRules(selector_bytes=None, payer_signs_all=True),
    unowned_addresses=("moon1" + "0" * 30, "moon1" + "1" * 30),
    make_hash=lambda beginning: "m" + (beginning + secrets.token_bytes(32 - len(beginning))).hex(),
    wording=Wording(sign_method="moon_sign"),
)
