"""One web process for the tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.support.api.served import Service


@pytest.fixture(scope="package")
def service(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The web process as in production."""
    running = Service(tmp_path_factory.mktemp("web") / "web.log")
    try:
        yield running
    finally:
        running.process.kill()
