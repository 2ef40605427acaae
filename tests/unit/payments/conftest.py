"""The fixtures that the tests here share with others."""

from tests.support.payments.fixtures import request_for

__all__ = ["request_for"]
