"""The fixtures that the tests here share with others."""

from tests.support.checkout.fixtures import checkout

__all__ = ["checkout"]
