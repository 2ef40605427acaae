"""The fixtures that the tests here share with others."""

from tests.support.embedding.fixtures import create, page, running_shop, service, shop, troubles

__all__ = ["create", "page", "running_shop", "service", "shop", "troubles"]
