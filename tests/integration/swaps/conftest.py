"""Each test here meets providers that have not failed yet."""

import pytest

from payments.providers import registry


@pytest.fixture(autouse=True)
def _providers_at_their_best() -> None:
    """No test meets a provider that rests after what another test made it do."""
    registry.forget()
