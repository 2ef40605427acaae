"""The fixtures that the tests here share with others."""

from tests.support.rates.fixtures import exchanges

__all__ = ["exchanges"]
