"""The fixtures that the tests here share with others."""

from tests.support.checkout.fixtures import checkout
from tests.support.portal.payment_rows import make, token

__all__ = ["checkout", "make", "token"]
