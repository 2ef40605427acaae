"""Compare the bearer credential in an Authorization header with a token."""

import secrets


def is_bearer_of(header: str, token: str) -> bool:
    """Return whether the header has this token as a bearer credential (RFC 6750; the scheme in any case)."""
    scheme, _, credential = header.strip().partition(" ")
    return scheme.lower() == "bearer" and secrets.compare_digest(credential.strip().encode(), token.encode())
