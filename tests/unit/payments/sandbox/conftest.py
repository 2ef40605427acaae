"""The fixtures that the tests here share with others."""

from tests.support.sandbox.fixtures import coin, request_in, solana_coin

__all__ = ["coin", "request_in", "solana_coin"]
