"""The fixtures that the tests here share with others."""

from tests.support.payments.fixtures import paying, request_for

__all__ = ["paying", "request_for"]
