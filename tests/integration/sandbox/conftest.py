"""The fixtures that the tests here share with others."""

from tests.support.sandbox.fixtures import coin, request_in

__all__ = ["coin", "request_in"]
