"""Verify signatures of Solana's keys."""

from solders.pubkey import Pubkey

from chains.families.solana.normalisation import solana_signature


def is_signed_by_key(address: str, message: str, signature: str) -> bool:
    """Whether the key `address` signed the UTF-8 bytes of `message` (ed25519). The signature is 64 bytes in base58
    or base64.
    """
    signed = solana_signature(signature)
    try:
        return signed is not None and signed.verify(Pubkey.from_string(address), message.encode())
    except ValueError:
        return False
