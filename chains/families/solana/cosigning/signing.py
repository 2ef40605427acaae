"""Sign as the fee payer, after the payer. Works offline."""

import base64

from solders.keypair import Keypair
from solders.message import MessageV0, to_bytes_versioned
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from chains.facts.authorizations import SignedTransaction


def address_of(key: str) -> str:
    """Return the address of a key pair (64 bytes in hex)."""
    return str(_key_pair(key).pubkey())


def fee_payer_of(transaction: bytes) -> str:
    return str(VersionedTransaction.from_bytes(transaction).message.account_keys[0])


def blockhash_of(transaction: bytes) -> str:
    return str(VersionedTransaction.from_bytes(transaction).message.recent_blockhash)


def sign(transaction: bytes, key: str) -> SignedTransaction:
    """Add the fee payer's signature to a transaction that `read_signed` returned.

    The fee payer's signature is the transaction's id. The id is always the same for the same transaction, because
    ed25519 is deterministic.
    """
    signed = VersionedTransaction.from_bytes(transaction)
    pair = _key_pair(key)
    if not isinstance(signed.message, MessageV0) or signed.message.account_keys[0] != pair.pubkey():
        raise ValueError("this key does not belong to the transaction's fee payer")
    signature = pair.sign_message(to_bytes_versioned(signed.message))
    whole = with_signatures(signed.message, [signature, *signed.signatures[1:]])
    return SignedTransaction(str(signature), base64.b64encode(whole).decode("ascii"), {})


def with_signatures(message: MessageV0, signatures: list[Signature]) -> bytes:
    return bytes(VersionedTransaction.populate(message, signatures))


def _key_pair(key: str) -> Keypair:
    return Keypair.from_bytes(bytes.fromhex(key))
