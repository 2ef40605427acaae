"""The fixtures that the tests here share with others."""

from tests.support.swaps.fixtures import _providers_at_their_best, new_customer, scripted

__all__ = ["_providers_at_their_best", "new_customer", "scripted"]
