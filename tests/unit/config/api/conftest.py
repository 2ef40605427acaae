"""The fixtures that the tests here share with others."""

from tests.support.api.fixtures import raw

__all__ = ["raw"]
