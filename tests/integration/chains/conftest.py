"""The fixtures that the tests here share with others."""

from tests.support.chains.fixtures import client, fee_token, look_alike, own_chain

__all__ = ["client", "fee_token", "look_alike", "own_chain"]
