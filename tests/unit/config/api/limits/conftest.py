"""The fixtures that the tests here share with others."""

from tests.support.api.fixtures import patient

__all__ = ["patient"]
