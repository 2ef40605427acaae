import secrets


def is_bearer_of(header: str, token: str) -> bool:
    """Return whether the Authorization header has this token as a bearer credential (RFC 6750)."""
    scheme, _, credential = header.strip().partition(" ")
    return scheme.lower() == "bearer" and secrets.compare_digest(credential.strip().encode(), token.encode())
