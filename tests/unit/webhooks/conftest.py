"""The fixtures that the tests here share with others."""

from tests.support.webhooks.fixtures import endpoint, receiver, record

__all__ = ["endpoint", "receiver", "record"]
