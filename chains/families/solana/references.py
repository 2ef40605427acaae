"""Convert a request's 16-byte reference to a Solana account key and back (Solana Pay: references are 32-byte keys).

The second half of the key is a checksum of the first, so that other keys aren't mistaken for references. The key of a
reference has no private key, and needs no account.
"""

from hashlib import sha256

from solders.pubkey import Pubkey

REFERENCE_BYTES = 16
_DOMAIN = b"quittance reference"


def reference_key(reference: bytes) -> str:
    """Return the account key, in base58, that contains this 16-byte reference. Raises ValueError for another length."""
    if len(reference) != REFERENCE_BYTES:
        raise ValueError(f"a reference has {REFERENCE_BYTES} bytes, not {len(reference)}")
    return str(Pubkey(reference + _check(reference)))


def reference_of(key: str) -> bytes | None:
    """Return the reference that an account key contains; None if it contains none."""
    try:
        whole = bytes(Pubkey.from_string(key))
    except ValueError:
        return None
    reference, check = whole[:REFERENCE_BYTES], whole[REFERENCE_BYTES:]
    return reference if check == _check(reference) else None


def _check(reference: bytes) -> bytes:
    return sha256(_DOMAIN + reference).digest()[:REFERENCE_BYTES]
