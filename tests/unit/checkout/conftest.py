"""The fixtures that the tests here share with others."""

from tests.support.checkout.fixtures import checkout
from tests.support.portal.payment_rows import make, token
from tests.support.portal.refund_rows import paid

__all__ = ["checkout", "make", "paid", "token"]
