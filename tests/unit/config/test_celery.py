"""Each task that beat sends exists. A task that waited too long is dropped."""

import pytest
from django.conf import settings

from config.celery import app

SCHEDULE = settings.CELERY_BEAT_SCHEDULE


@pytest.mark.parametrize("name", SCHEDULE)
def test_each_nudge_is_for_a_task_that_there_is(name: str) -> None:
    app.loader.import_default_modules()
    assert SCHEDULE[name]["task"] in app.tasks


@pytest.mark.parametrize("name", SCHEDULE)
def test_each_nudge_expires(name: str) -> None:
    assert 0 < SCHEDULE[name]["options"]["expires"] <= 60
