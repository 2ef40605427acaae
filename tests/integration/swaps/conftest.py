"""Fixtures for the tests of swaps."""

import pytest

from payments.providers import registry


@pytest.fixture(autouse=True)
def _providers_at_their_best() -> None:
    """Clear the providers' cooldowns, which earlier tests may have caused."""
    registry.forget()
