"""The fixtures that the tests here share with others."""

from tests.support.webhooks.fixtures import clock, endpoint, receiver, record, secret, self_signed

__all__ = ["clock", "endpoint", "receiver", "record", "secret", "self_signed"]
