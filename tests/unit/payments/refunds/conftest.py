"""The fixtures that the tests here share with others."""

from tests.support.portal.fixtures import make, token
from tests.support.portal.refund_rows import paid

__all__ = ["make", "paid", "token"]
