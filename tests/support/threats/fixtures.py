"""Requests and payers as in tests/payments, for the threats of the same chains."""

from tests.support.payments.fixtures import paying, request_for

__all__ = ["paying", "request_for"]
