"""Compare the bearer credential in an Authorization header with a token."""

import secrets


def is_bearer_of(header: str, token: str) -> bool:
    """Whether the header holds this token as a bearer credential (RFC 6750; a scheme's case doesn't matter)."""
    scheme, _, credential = header.strip().partition(" ")
    return scheme.lower() == "bearer" and secrets.compare_digest(credential.strip().encode(), token.encode())
