"""A payment request as the customer meets it."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Api


@pytest.fixture
def checkout(api: Api, order: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Return a maker of payment requests by the API; gives the created object."""

    def create(**different: Any) -> dict[str, Any]:
        response = api.post("/api/payment-requests", order(**different))
        assert response.status_code == 201, response.content
        created: dict[str, Any] = response.json()
        return created

    return create
