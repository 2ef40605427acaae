"""The fixtures that the tests here share with others."""

from tests.support.solana.fixtures import client, mints

__all__ = ["client", "mints"]
