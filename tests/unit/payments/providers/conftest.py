"""Fixtures for tests of Relay."""

from collections.abc import Iterator

import pytest
import responses

from payments.providers.relay.client import RelayProvider
from tests.support.routing.relay_asking import relay_at


@pytest.fixture
def answers() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock() as mock:
        yield mock


@pytest.fixture
def provider() -> RelayProvider:
    return relay_at()
