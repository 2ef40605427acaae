"""The fixtures that the tests here share with others."""

from tests.support.portal.fixtures import make, token

__all__ = ["make", "token"]
